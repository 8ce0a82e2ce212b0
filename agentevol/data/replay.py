"""Replay of earlier training data: retained episodes of another run, and the old share of each update.

new     20 training sequences of 10 tokens of this iteration
old     all training sequences of earlier iterations, of demonstrations, of retained episodes
learnt  the new ones and, with a fraction of 0.2, 5 of the old ones, marked as replayed
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from agentevol.config.run import RunConfig, TrainConfig
from agentevol.config.sections.forgetting import ReplayConfig, RetainedConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.algorithms.contract import Objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.data.groups import own_part
from agentevol.data.selection.filters import select
from agentevol.data.stored_episodes import episodes_in
from agentevol.data.training_sequences import imitated
from agentevol.learn.batches.packing import demonstration, episode_sequences
from agentevol.learn.continual.replay_sampling import Candidate, mixture, reservoir, stratified
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_store.feedback.records import Comparison, Feedback
from agentgym_store.records import Trajectory
from agentgym_store.store import Where
from agentgym_store.urls import named

KEPT = ("explore", "demonstrate", "retain")
"""Purposes of episodes that may be learnt from; evaluation is excluded."""


class Old(NamedTuple):
    """Training sequence of an earlier stage, with its environment and length."""

    environment: str
    sequence: TrainingSequence


def retained_episodes(config: RunConfig | TrainConfig) -> list[Trajectory]:
    """The episodes in `retained.data` that `select.*` chooses, at most the configured number, by their ids.

    Those in a split of its environment that a run holds out are left out: demonstrations may be of any split.

    Raises `ConfigError` where there is none.
    """
    retained = config.retained
    if retained is None:
        return []
    held_out = {} if isinstance(config, TrainConfig) else _held_out_splits(config)
    stored = episodes_in(named(retained.data), Where()) or []
    found = [t for t in stored if t.split not in held_out.get(t.env, ())]
    wanted = select([own_part(t) for t in found if t.purpose in KEPT], config.select, config.seed)
    ids = {t.id for t in wanted}
    chosen = sorted((t for t in found if t.id in ids), key=lambda t: t.id)
    if not chosen:
        raise ConfigError(
            f"retained.data: of {len(found)} episodes in {retained.data}, select.* keeps none to learn from"
        )
    return [chosen[index] for index in sorted(_drawn(chosen, retained, config.seed))]


def _held_out_splits(config: RunConfig) -> dict[str, set[str]]:
    """Splits that a run holds out, by environment."""
    return {
        name: {own.evaluate_split, own.validate_split} - {own.explore_split}
        for name, own in config.by_environment.items()
    }


def _drawn(episodes: Sequence[Trajectory], config: RetainedConfig, seed: int) -> list[int]:
    if config.sampling == "reservoir":
        return reservoir(range(len(episodes)), config.episodes, seed)
    return stratified([(t.env, t.succeeded()) for t in episodes], config.episodes, seed)


def copied(episodes: Sequence[Trajectory], run: str) -> list[Trajectory]:
    """Episodes as stored in a run's own table, with its prefix before their ids."""
    own = {"run": run, "purpose": "retain", "iteration": 0}
    return [t.model_copy(update=own | {"id": copied_id(t.id, run)}) for t in episodes]


def copied_opinions(opinions: Iterable[Feedback], episodes: Collection[str], run: str) -> list[Feedback]:
    """Opinions about copied `episodes` of these ids, as stored beside a run's own table."""
    return [
        one.model_copy(
            update={
                "id": hashlib.sha256(f"{run}/{one.id}".encode()).hexdigest()[:32],
                "trajectory_id": copied_id(one.trajectory_id, run),
                "opinion": one.opinion.model_copy(update={"other": copied_id(one.opinion.other, run)})
                if isinstance(one.opinion, Comparison)
                else one.opinion,
            }
        )
        for one in opinions
        if all(name in episodes for name in one.episodes)
    ]


def copied_id(name: str, run: str) -> str:
    """Id of a copied episode."""
    return f"{run}/retain/{name}"


def retained_sequences(
    episodes: Sequence[Trajectory],
    objective: Objective,
    config: RunConfig | TrainConfig,
    base: Checkpoint,
) -> list[Old]:
    """Training sequences of another run's episodes, without a version of this run's policy.

    Imitation algorithms weigh them by their rule. A scripted episode is encoded by the base's tokenizer.
    """
    scripted, played = by_player(episodes)
    if objective.algorithm.data == "episodes":
        sequences = imitated(played, objective, config.select)
    else:
        sequences = [
            sequence for t in played for sequence in episode_sequences(t, 1.0, kind=config.select.sequences)
        ]
    if scripted:
        renderer = ChatRenderer(load_tokenizer(base.path), config.chat_template_kwargs)
        form = action_format(config.action_format)
        sequences += [demonstration(t, renderer, 1.0, form) for t in scripted]
    env = {t.id: t.env for t in episodes}
    return [
        Old(env[sequence.trajectory_id], replace(sequence, policy_version=None)) for sequence in sequences
    ]


def by_player(episodes: Iterable[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
    """Scripted episodes whole, for `demonstration` renders what was given in them too, and the own parts of
    those that a language model played.
    """
    scripted, played = list[Trajectory](), list[Trajectory]()
    for episode in episodes:
        own = own_part(episode)
        if any(turn.sample is not None for turn in own.turns):
            played.append(own)
        elif own.turns:
            scripted.append(episode)
    return scripted, played


def said_in(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Training sequences of a stage in the form for replay: each its own unit, without the rejected sides of
    pairs.
    """
    return [
        replace(sequence, unit="", side=0, weight=1.0, episode=None)
        for sequence in sequences
        if sequence.side >= 0 and sequence.weight > 0
    ]


def replayed(
    new: Sequence[TrainingSequence], old: Sequence[Old], environment: str, config: ReplayConfig, seed: int
) -> list[TrainingSequence]:
    """Old training sequences to learn beside `new` ones, which count as of `environment`
    (`agentevol.learn.continual.replay_sampling`).

    A function of its arguments. A repeated one is a sequence of its own.
    """
    counted = [Candidate(one.environment, learnt_tokens(one.sequence)) for one in old]
    learnt = [Candidate(environment, learnt_tokens(one)) for one in new if one.weight > 0]
    places = replayed_places(learnt, counted, config, seed)
    return [again(old[place].sequence, before) for place, before in places]


def replayed_places(
    new: Sequence[Candidate], old: Sequence[Candidate], config: ReplayConfig, seed: int
) -> list[tuple[int, int]]:
    """Indices of the old training sequences to learn beside `new` ones, and the number of earlier draws of
    each.

    Old ones without a learnt token are never drawn.
    """
    pool = [place for place, sequence in enumerate(old) if sequence.tokens]
    chosen = mixture(
        new,
        [old[place] for place in pool],
        fraction=config.fraction,
        floor=config.floor,
        seed=seed,
    )
    seen = Counter[int]()
    places: list[tuple[int, int]] = []
    for index in chosen:
        places.append((pool[index], seen[index]))
        seen[index] += 1
    return places


def again(sequence: TrainingSequence, before: int) -> TrainingSequence:
    """Replayed copy of a training sequence that was drawn `before` times already."""
    return replace(sequence, replayed=True, unit=f"again {before}" if before else "")


def learnt_tokens(sequence: TrainingSequence) -> int:
    """Number of learnt tokens; 0 for a training sequence of weight 0."""
    return int(sequence.mask.sum()) if sequence.weight > 0 else 0
