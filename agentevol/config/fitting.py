"""Fitting of a configuration to its environment: default splits, held-out parts and numbers of tasks.

environment with train, valid, test   explores train, chooses by valid, reports test
environment with train alone          holds train:valid and train:test out of train (`evaluate.held_out` each)
environment with three tasks          explores one, validates on one, reports one
"""

from collections.abc import Callable
from dataclasses import dataclass

from agentevol.config.rewards.process import ContinuationProcess
from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import SELF_PLAY
from agentevol.core.errors import ConfigError
from agentevol.core.splits import PARTS, held_out, parent


@dataclass(frozen=True)
class TaskCounts:
    """Task counts of an environment: names of splits and difficulties, and the number of their tasks."""

    environment: str
    splits: tuple[str, ...]
    difficulties: tuple[str, ...]
    size: Callable[[str, str | None], int]
    """Number of tasks in a split, all or of one difficulty."""
    seats: tuple[str, ...] = ()
    """Names of the seats of an episode; () where there is one agent only."""


def fitted(config: RunConfig, counts: TaskCounts, *, strict: bool = True) -> RunConfig:
    """The configuration with named splits and with no more requested tasks than there are.

    Raises `ConfigError` for splits and difficulties that the environment does not have, and for too few tasks
    to hold any out. Unless `strict`, as for a plan, splits may be unknown: data may be on another machine.
    """
    config = _with_splits(_with_seats(config, counts), counts)
    _check_difficulties(config, counts)
    parts = config.held_out_parts
    for part in parts:
        if parent(part) != config.explore_split:
            raise ConfigError(f"{part!r} is no part of the explored split {config.explore_split!r}")
    sizes: dict[str, int | None] = {}
    for split in (config.explore_split, *({config.evaluate_split, config.validate_split} - set(parts))):
        level = config.explore.difficulty if split == config.explore_split else config.evaluate.difficulty
        sizes[split] = _size(config, counts, split, level) if strict or split in counts.splits else None
    total = sizes[config.explore_split]
    if total is not None:
        for part in parts:
            sizes[part] = len(held_out(part, config.evaluate.held_out)(total))
        sizes[config.explore_split] = total - sum(sizes[part] or 0 for part in parts)
        _check_enough(config, counts, total, sizes)
    return _with_counts(config, sizes)


def _with_seats(config: RunConfig, counts: TaskCounts) -> RunConfig:
    own, there = config.environment, len(counts.seats) or 1
    seats = own.seats or there
    if seats not in (1, there):
        named = f"{there}: {', '.join(counts.seats)}" if counts.seats else "1"
        raise ConfigError(f"environment.seats: {counts.environment} has {named}; play all of them or 1")
    if seats == 1 and own.partner != SELF_PLAY:
        raise ConfigError(
            f"environment.partner has no effect: one seat of {counts.environment} is played by an agent"
        )
    if seats == 1 and config.selfplay.on:
        raise ConfigError(
            f"selfplay.partner = 'league' has no effect: one seat of {counts.environment} is played by an"
            " agent"
        )
    if seats > 1 and isinstance(config.process, ContinuationProcess):
        raise ConfigError(
            "process.continuations need episodes that can be continued, and those with several seats cannot:"
            " set environment.seats=1"
        )
    if there == 1:
        return config
    return config.model_copy(update={"environment": own.model_copy(update={"seats": seats})})


def _with_splits(config: RunConfig, counts: TaskCounts) -> RunConfig:
    explore, evaluate = config.explore, config.evaluate
    if explore.split is None and "train" not in counts.splits:
        held_out_splits = (config.evaluate_split, config.validate_split)
        rest = [split for split in counts.splits if split not in held_out_splits]
        if not rest:
            raise ConfigError(
                f"{counts.environment} has no split 'train': name the one that is explored by explore.split;"
                f" there are: {', '.join(counts.splits)}"
            )
        explore = explore.model_copy(update={"split": rest[0]})
    explored = explore.split or "train"
    missing = {
        name: f"{explored}:{default}"
        for name, default in (("validation_split", "valid"), ("split", "test"))
        if getattr(evaluate, name) is None and default not in counts.splits
    }
    return config.model_copy(update={"explore": explore, "evaluate": evaluate.model_copy(update=missing)})


def _check_difficulties(config: RunConfig, counts: TaskCounts) -> None:
    named = {"explore": config.explore.difficulty, "evaluate": config.evaluate.difficulty}
    for section, difficulty in named.items():
        if difficulty is not None and difficulty not in counts.difficulties:
            known = ", ".join(counts.difficulties) or "none"
            raise ConfigError(
                f"{section}.difficulty: {counts.environment} has no difficulty {difficulty!r};"
                f" there are: {known}"
            )
    if config.held_out_parts and named["explore"] != named["evaluate"]:
        raise ConfigError(
            f"{', '.join(config.held_out_parts)}: tasks are held out of those that are explored, so that"
            " explore.difficulty and evaluate.difficulty have to be equal"
        )


def _size(config: RunConfig, counts: TaskCounts, split: str, difficulty: str | None) -> int:
    if split in counts.splits:
        return counts.size(split, difficulty)
    known, name = ", ".join(counts.splits), counts.environment
    hint = (
        f": import it with `agentevol data import {name} DIR`"
        if config.environment.data == "official"
        else f"; there are: {known}"
    )
    raise ConfigError(f"{name} has no split {split!r}{hint}")


def _check_enough(config: RunConfig, counts: TaskCounts, total: int, sizes: dict[str, int | None]) -> None:
    for split, size in sizes.items():
        if size == 0 and parent(split) == config.explore_split:
            needed = 1 + len(config.held_out_parts)
            raise ConfigError(
                f"{counts.environment} has {total} tasks in split {config.explore_split!r}, and a run needs"
                f" {needed} of them: it holds some out, since there is no split"
                f" {' or '.join(repr(name) for name in PARTS if f'{config.explore_split}:{name}' in sizes)}"
            )
        if size == 0:
            raise ConfigError(f"{counts.environment} has no tasks in split {split!r}")


def _half(config: RunConfig, sizes: dict[str, int | None]) -> int | None:
    """Validation tasks that choose among the members of a population: at most half of the split."""
    wanted, size = config.evaluate.validation_episodes, sizes.get(config.validate_split)
    if size is None:
        return wanted
    if size < 2:
        raise ConfigError(
            f"population: the split {config.validate_split!r} has {size} task, and a result is judged on"
            " others than those that choose it; name another evaluate.validation_split"
        )
    return min(wanted or size, size // 2)


def _with_counts(config: RunConfig, sizes: dict[str, int | None]) -> RunConfig:
    def at_most(wanted: int | None, split: str) -> int | None:
        size = sizes.get(split)
        return wanted if wanted is None or size is None else min(wanted, size)

    explore, evaluate, shown = config.explore, config.evaluate, config.demonstrations
    if config.population is not None:  # half of them choose members, others judge the result
        evaluate = evaluate.model_copy(update={"validation_episodes": _half(config, sizes)})
    return config.model_copy(
        update={
            "explore": explore.model_copy(update={"tasks": at_most(explore.tasks, config.explore_split)}),
            "evaluate": evaluate.model_copy(
                update={
                    "episodes": at_most(evaluate.episodes, config.evaluate_split),
                    "validation_episodes": at_most(evaluate.validation_episodes, config.validate_split),
                }
            ),
            "demonstrations": shown.model_copy(update={"tasks": at_most(shown.tasks, config.explore_split)}),
        }
    )
