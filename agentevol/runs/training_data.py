"""Training data of one update: training sequences of episodes or chats that are there already."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentevol.config.run import TrainConfig
from agentevol.config.self_evolution.feedback import OPINION
from agentevol.core.action_formats.registry import action_format
from agentevol.core.algorithms.contract import Objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.data.auxiliary_sequences import with_auxiliary_sequences
from agentevol.data.chat_datasets import read_texts
from agentevol.data.feedback.taught import NOTHING, Taught
from agentevol.data.feedback.turns import SCORE, of_own_turns
from agentevol.data.groups import own_part
from agentevol.data.replay import by_player
from agentevol.data.rewards.objectives import for_reward_model
from agentevol.data.rewards.process_rewards import counted_by_head, pooled_by_head
from agentevol.data.rewards.state_values import recorded_states
from agentevol.data.selection.filters import fresh, select
from agentevol.data.selection.rescoring import rescored
from agentevol.data.selection.statistics import selection_figures
from agentevol.data.stored_episodes import episodes_in
from agentevol.data.training_sequences import sequences_of, valued
from agentevol.learn.batches.packing import demonstration
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.rewards.monte_carlo_values import StateValues
from agentevol.models.rendering import ChatRenderer
from agentevol.models.tokenizer_checks import check_tokenizer
from agentevol.runs.feedback_data import taught_by
from agentgym_store.records import Trajectory
from agentgym_store.store import Where

KEPT = ("keep_rate", "tasks_solved", "tasks_never_solved", "distinct_ratio")


def training_data(
    data: Path | str, config: TrainConfig, chosen: Objective, renderer: ChatRenderer, where: Where
) -> tuple[list[TrainingSequence], dict[str, float]]:
    """Build the training sequences, and for episodes metrics of what was kept."""
    if config.feedback.sources:
        return _with_feedback(data, config, chosen, renderer, where)
    return _of_outcomes(data, config, chosen, renderer, where)


def _with_feedback(
    data: Path | str, config: TrainConfig, chosen: Objective, renderer: ChatRenderer, where: Where
) -> tuple[list[TrainingSequence], dict[str, float]]:
    """Training data from opinions, with `feedback.only` = False beside those from outcomes."""
    found = taught_by(data, config, chosen, renderer, where)
    if chosen.algorithm.data == "steps":
        return _of_turns(data, config, where, found), found.figures
    if config.feedback.only:
        found.check(data)
        return found.sequences, found.figures
    try:
        sequences, figures = _of_outcomes(data, config, chosen, renderer, where, found)
    except NothingToLearn:
        found.check(data)
        sequences, figures = [], {}
    return sequences + found.sequences, {**figures, **found.figures}


def _of_outcomes(
    data: Path | str,
    config: TrainConfig,
    chosen: Objective,
    renderer: ChatRenderer,
    where: Where,
    opinions: Taught = NOTHING,
) -> tuple[list[TrainingSequence], dict[str, float]]:
    """Training sequences of chats, or of all episodes but those that opinions leave out."""
    states = chosen.algorithm.data == "steps"  # states are also valued by episodes of other purposes
    wanted = replace(where, purpose=None) if states else where
    episodes = episodes_in(data, wanted)
    if episodes is not None:
        if not episodes:
            raise NothingToLearn(f"{data} has no episodes{_of(wanted)}: see `agentevol trajectories stats`")
        if states:
            return state_sequences(episodes, config, data), {}
        ids = {t.id for t in fresh([own_part(t) for t in episodes], config.select.max_lag)}
        current = [t for t in episodes if t.id in ids and t.id not in opinions.without]
        if config.select.score == OPINION:
            current = rescored(current, opinions.scores)
        sequences = _episodes(current, config, chosen, renderer)
        stale = {"stale": float(len(episodes) - len(ids))} if len(ids) < len(episodes) else {}
        return sequences, {**kept_figures(episodes, sequences), **stale}
    if config.objectives:
        raise ConfigError(f"objectives need episodes: {data} holds chats, leave them out")
    if config.select.sequences != "fork":
        raise ConfigError(
            f"select.sequences has no effect: {data} holds chats, and each is one training sequence"
        )
    found = read_texts(Path(data), renderer)
    if found.kind != chosen.algorithm.data:
        raise ConfigError(f"{chosen.name} learns from {chosen.algorithm.data}; {data} holds {found.kind}")
    return with_auxiliary_sequences(found.sequences, chosen), {}


def _of_turns(
    data: Path | str, config: TrainConfig, where: Where, opinions: Taught
) -> list[TrainingSequence]:
    """Training sequences with labels of turns: by opinions, and with `feedback.only` = False by counting for
    heads that nobody spoke of.
    """
    said, heads = opinions.turn_values, heads_of(config)
    counted = [name for name in heads if name not in said]
    if counted and config.feedback.only:
        known = ", ".join(sorted(said)) or "none"
        raise NothingToLearn(f"no opinion of feedback.sources gives turns {counted[0]!r}; there are: {known}")
    episodes = episodes_in(data, replace(where, purpose=None)) or []
    episodes = [t for t in episodes if t.id not in opinions.flagged]
    if counted:
        return state_sequences(episodes, config, data, said)
    explored = [t for t in episodes if where.purpose is None or t.purpose == where.purpose]
    own = [own_part(t) for t in explored]
    return valued(own, *(of_own_turns(said[name], explored) for name in heads), kind=config.select.sequences)


def kept_figures(episodes: Sequence[Trajectory], sequences: Sequence[TrainingSequence]) -> dict[str, float]:
    """Metrics by environment: the share of scored episodes that is learnt from, numbers of solved and
    unsolved tasks, and how many of the learnt episodes differ in their actions.
    """
    learnt = {sequence.trajectory_id for sequence in sequences if sequence.weight > 0 and sequence.mask.any()}
    found: dict[str, float] = {}
    for env in sorted({t.env for t in episodes}):
        own = [t for t in episodes if t.env == env]
        figures = selection_figures(own, [t for t in own if t.id in learnt], frozenset())
        found |= {f"{name}_{env}": figures[name] for name in KEPT if name in figures}
    return found


def _of(where: Where) -> str:
    purpose = "" if where.purpose is None else f" of purpose {where.purpose!r}"
    return purpose + ("" if where.iteration is None else f" of iteration {where.iteration}")


def state_sequences(
    trajectories: list[Trajectory],
    config: TrainConfig,
    data: Path | str,
    said: Mapping[str, StateValues] | None = None,
) -> list[TrainingSequence]:
    """Training sequences with state values, from the continuations of a run, or by pooling; heads in `said`
    have the values there.

    Raises `ConfigError` where there is nothing to count.
    """
    by_purpose = {p: [t for t in trajectories if t.purpose == p] for p in ("explore", "value")}
    explored = select([own_part(t) for t in by_purpose["explore"]], config.select, config.seed)
    given = {name: of_own_turns(one, by_purpose["explore"]) for name, one in (said or {}).items()}
    heads = [name for name in heads_of(config) if name not in given]
    if config.pooled:
        counted = pooled_by_head(explored, heads)
    else:
        states, count = recorded_states(explored, by_purpose["value"])
        if not states:
            raise ConfigError(
                f"{data} holds no continuations, to value states by: take the table of a run with"
                " process.continuations=K, or set pooled=true to value states by the episodes themselves"
            )
        counted = counted_by_head(states, explored, by_purpose["value"], count, heads)
    values = {name: one.values for name, one in counted.items()} | given
    return valued(explored, *(values[name] for name in heads_of(config)), kind=config.select.sequences)


def _episodes(
    trajectories: list[Trajectory], config: TrainConfig, chosen: Objective, renderer: ChatRenderer
) -> list[TrainingSequence]:
    """Training sequences of selected episodes; scripted ones are encoded, where they can be imitated."""
    for trajectory in trajectories:
        if trajectory.total_reward is not None and not math.isfinite(trajectory.total_reward):
            raise ConfigError(
                f"episode {trajectory.id} has a reward that is not a number: take it out of the data, or let"
                " it end as `failed`, which is never learnt from"
            )
    ids = {t.id for t in select([own_part(t) for t in trajectories], config.select, config.seed)}
    selected = sorted((t for t in trajectories if t.id in ids), key=lambda t: t.id)
    if not selected:
        raise NothingToLearn(
            f"none of {len(trajectories)} episodes is selected by select.rule = {config.select.rule!r}:"
            " failed ones never are; of others, `all` takes every one and `top_k_ratio` the best"
        )
    check_tokenizer(selected, renderer)
    scripted, played = by_player(selected)
    if scripted and chosen.algorithm.data != "episodes":
        raise ConfigError(
            f"{chosen.name} needs sampled tokens: {len(scripted)} of {len(selected)} episodes were scripted"
        )
    sequences = sequences_of(played, chosen, config, config.seed) if played else []
    if chosen.name == "bradley_terry":
        sequences = for_reward_model(sequences, played, config.objectives, int(chosen.options["heads"]))
    form = action_format(config.action_format)
    return sequences + [demonstration(trajectory, renderer, 1.0, form) for trajectory in scripted]


def heads_of(config: TrainConfig) -> list[str]:
    """Names of a process reward model's heads, in the same order as in a run."""
    return sorted(config.objectives) or [SCORE if config.feedback.sources else "outcome"]
