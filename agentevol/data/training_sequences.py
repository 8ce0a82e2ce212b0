"""Training sequences from episodes, for each kind of algorithm: imitation, groups, pairs, labels, state
values.

Every sequence keeps the id of its episode, so that the training data of a checkpoint can be traced.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from agentevol.config.run import RunConfig, TrainConfig
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.algorithms.contract import Floats, Objective
from agentevol.core.protocols import EpisodeFacts, SequenceKind, TrainingSequence
from agentevol.data.answer_lengths import with_answers
from agentevol.data.auxiliary_sequences import with_auxiliary_sequences
from agentevol.data.final_observation import with_closing
from agentevol.data.groups import group_of
from agentevol.data.pair_sources import NO_SOURCES, PairSources, all_pairs, is_scripted
from agentevol.data.preference_pairs import Label, Pair, labels
from agentevol.data.seat_baselines import NO_MEANS, SeatMeans, with_baselines
from agentevol.data.selection.filters import learnt_turns
from agentevol.learn.algorithms.episode_weights import members
from agentevol.learn.batches.packing import demonstration, episode_sequences, last_tokens
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.rewards.monte_carlo_values import StateValue, StateValues
from agentevol.learn.rewards.repetition import repeated_share
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import resolve
from agentgym_store.records import STATE, Trajectory, total_costs

Encoder = Callable[[Trajectory], TrainingSequence]
"""Encoder of the texts of a scripted episode."""


def sequences_of(
    trajectories: Sequence[Trajectory],
    objective: Objective,
    config: RunConfig | TrainConfig,
    seed: int,
    sources: PairSources = NO_SOURCES,
    before: SeatMeans = NO_MEANS,
) -> list[TrainingSequence]:
    """Build training sequences of the algorithm's kind from selected episodes; `sources` are those of pairs
    beside them, `before` the means of earlier returns by seat, of which there are none in a data set.

    Raises `NothingToLearn` where the episodes form no pair, and for algorithms on values of turns, which are
    not counted here.
    """
    kind = config.select.sequences
    match objective.algorithm.data:
        case "groups":
            sequences = grouped(trajectories, objective, kind, before)
            if "length_target" in objective.options:  # its metrics separate answers from thoughts, on or off
                sequences = with_answers(sequences, trajectories, resolve(config.base, weights=False).path)
            if objective.algorithm.model == "critic":
                base = resolve(config.base, weights=False).path
                sequences = with_closing(sequences, trajectories, base, config.chat_template_kwargs)
            return sequences
        case "pairs":
            pairs = all_pairs(trajectories, sources, config.pairs, seed)
            return with_auxiliary_sequences(paired(pairs, kind, _encoder(pairs, config)), objective)
        case "labels":
            given = labels(trajectories, truncated_is_loss=config.pairs.truncated_is_loss)
            return with_auxiliary_sequences(labelled(given, kind), objective)
        case "episodes":
            return imitated(trajectories, objective, config.select)
        case "steps":
            raise NothingToLearn("labels of single turns need continuations: `process.*` of a run")


def facts(trajectory: Trajectory) -> EpisodeFacts:
    """Facts of an episode that algorithms read besides its tokens."""
    infos = [turn.info for turn in trajectory.turns]
    return EpisodeFacts(
        group=group_of(trajectory),
        rewards=tuple(turn.reward for turn in trajectory.turns),
        anchors=_states(trajectory),
        modes=tuple(_number(info.get("mode")) for info in infos),
        invalid=tuple(bool(info.get("invalid_action", False)) for info in infos),
        truncated=trajectory.ending.kind == "truncated",
        costs=costs(trajectory),
        environment=trajectory.env,
        repeated=repeated_share(" ".join(turn.sample.text for turn in trajectory.turns if turn.sample), 4),
    )


def _states(trajectory: Trajectory) -> tuple[str, ...]:
    """State in which each turn was taken: the recorded one, or else the last observation."""
    read = (trajectory.initial_observation, *(turn.observation for turn in trajectory.turns))
    return tuple(str(turn.info.get(STATE, seen)) for turn, seen in zip(trajectory.turns, read, strict=False))


def grouped(
    trajectories: Sequence[Trajectory],
    objective: Objective,
    kind: SequenceKind = "fork",
    before: SeatMeans = NO_MEANS,
) -> list[TrainingSequence]:
    """Whole episodes with their rewards, for algorithms that compare the samples of a task, which form a
    unit, or each with the mean of earlier returns (`before`) of its world and seat.

    Groups that the algorithm leaves out have weight 0. The reward of a turn without a learnt token cannot be
    placed: no token of such an episode is learnt, and the learner counts its sequences as empty.
    """
    sequences: list[TrainingSequence] = []
    told = {trajectory.id: facts(trajectory) for trajectory in trajectories}
    if objective.options.get("baseline") == "seat":
        told = with_baselines(trajectories, told, before)
    for trajectory, weight in zip(trajectories, _weights(trajectories, objective), strict=True):
        episode = told[trajectory.id]
        own = episode_sequences(trajectory, weight, kind=kind)
        if len({turn for sequence in own for turn, _ in last_tokens(sequence)}) < len(trajectory.turns):
            own = [replace(sequence, mask=np.zeros_like(sequence.mask)) for sequence in own]
        sequences += [replace(sequence, unit=episode.group, episode=episode) for sequence in own]
    return sequences


def imitated(
    trajectories: Sequence[Trajectory], objective: Objective, config: SelectConfig
) -> list[TrainingSequence]:
    """Selected episodes with the weights of the algorithm; `config.turns` selects the learnt turns."""
    weights = _weights(trajectories, objective, config.thresholds)
    return [
        sequence
        for trajectory, weight in zip(trajectories, weights, strict=True)
        for sequence in episode_sequences(
            trajectory, weight, learnt_turns(trajectory, config.turns), config.sequences
        )
    ]


def _weights(
    trajectories: Sequence[Trajectory], objective: Objective, thresholds: Mapping[str, float] | None = None
) -> list[float]:
    """Weights by the algorithm's rule, with the threshold of each environment where there is one."""
    if objective.weigh is None:
        return [1.0] * len(trajectories)
    weigh: Callable[..., Floats] = objective.weigh
    weights = np.ones(len(trajectories))
    for own in members([trajectory.env for trajectory in trajectories]):
        found = [trajectories[index] for index in own]
        threshold = (thresholds or {}).get(found[0].env)
        has_one = threshold is not None and "threshold" in objective.options
        returns = [t.total_reward or 0.0 for t in found]
        special = {"threshold": threshold} if has_one else {}
        weights[own] = weigh(returns, [group_of(t) for t in found], **special)
    return weights.tolist()


def paired(
    pairs: Sequence[Pair], kind: SequenceKind = "fork", encode: Encoder | None = None
) -> list[TrainingSequence]:
    """Both sides of every pair; turns that they share are not learnt. `encode` is for scripted episodes."""
    sequences: list[TrainingSequence] = []
    for number, pair in enumerate(pairs):
        for side, trajectory in ((1, pair.chosen), (-1, pair.rejected)):
            learnt = [turn >= pair.shared_turns for turn in range(len(trajectory.turns))]
            own = (
                [encode(trajectory)]
                if encode is not None and is_scripted(trajectory)
                else episode_sequences(trajectory, 1.0, learnt, kind)
            )
            told = {"unit": f"pair {number}", "side": side, "margin": pair.margin}
            told["preference"] = pair.preference
            sequences += [replace(sequence, episode=facts(trajectory), **told) for sequence in own]
    return sequences


def _encoder(pairs: Sequence[Pair], config: RunConfig | TrainConfig) -> Encoder | None:
    """Encoder of the demonstrations in pairs, by the tokenizer and chat template of the base; None where
    there are none.
    """
    if isinstance(config, TrainConfig) or not any(is_scripted(pair.chosen) for pair in pairs):
        return None
    base = resolve(config.base, weights=False).path
    renderer = ChatRenderer(load_tokenizer(base), config.chat_template_kwargs)
    form = action_format(config.action_format)
    return lambda trajectory: demonstration(trajectory, renderer, 1.0, form)


def labelled(labels: Sequence[Label], kind: SequenceKind = "fork") -> list[TrainingSequence]:
    """Training sequences of desirable and undesirable episodes."""
    return [
        replace(sequence, side=1 if label.desirable else -1, episode=facts(label.trajectory))
        for label in labels
        for sequence in episode_sequences(label.trajectory, label.weight, kind=kind)
    ]


def valued(
    trajectories: Sequence[Trajectory], *values: StateValues, kind: SequenceKind = "fork"
) -> list[TrainingSequence]:
    """Training sequences of episodes with counted states: the last token of every turn that led to one is
    learnt.

    `values` are those of each head; a head without a value of a state has no label there.
    """
    sequences = [
        _with_labels(sequence, [by_episode.get(trajectory.id, {}) for by_episode in values])
        for trajectory in trajectories
        if any(trajectory.id in by_episode for by_episode in values)
        for sequence in episode_sequences(trajectory, 1.0, kind=kind)
    ]
    return [sequence for sequence in sequences if sequence.mask.any()]


def _with_labels(sequence: TrainingSequence, heads: Sequence[Mapping[int, StateValue]]) -> TrainingSequence:
    """Add the labels of its turns to the training sequence, and remove its policy version, so that it is not
    compared with the engine.
    """
    length = len(sequence.token_ids)
    mask = np.zeros(length, dtype=np.bool_)
    labels, samples = np.full((length, len(heads)), np.nan, np.float32), np.zeros(length, np.float32)
    for turn, position in last_tokens(sequence):
        for number, values in enumerate(heads):
            if turn in values:
                mask[position] = True
                labels[position, number] = values[turn].value
                samples[position] = max(samples[position], values[turn].samples)
    unknown = np.full(length, np.nan, np.float32)
    return replace(
        sequence, mask=mask, labels=labels, label_samples=samples, rollout_logp=unknown, policy_version=None
    )


def _number(mode: object) -> int:
    return mode if isinstance(mode, int) else 0


COUNTED = ("turns", "tokens", "invalid_actions")
"""Costs of every episode, besides those that the environment reports."""


def costs(trajectory: Trajectory) -> dict[str, float]:
    """Costs of an episode by name: its `turns`, sampled `tokens` and `invalid_actions`, and those that the
    environment reported: NaN where a cost was not judged once.
    """
    turns = trajectory.turns
    counted = {
        "turns": float(len(turns)),
        "tokens": float(sum(len(turn.sample.token_ids) for turn in turns if turn.sample)),
        "invalid_actions": float(sum(bool(turn.info.get("invalid_action", False)) for turn in turns)),
    }
    reported = total_costs(turns)
    return counted | {name: counted.get(name, 0.0) + cost for name, cost in reported.items()}
