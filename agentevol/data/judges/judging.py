"""Judgement of many episodes: a bounded number at a time, each within a time limit.

A judge that raises, takes too long, or gives no score on its scale has failed: the episode has a reason in
place of a score.
"""

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from typing import Any, get_type_hints

from agentevol.config.rewards.registries import JUDGES
from agentevol.core.algorithms.contract import Option
from agentevol.core.algorithms.options import check_option, options_of
from agentevol.core.errors import ConfigError, described
from agentevol.core.judges import Judge, JudgedEpisode, JudgedTurn, Verdict
from agentgym_store.records import Trajectory, Turn


@dataclass(frozen=True)
class Judged:
    """Verdicts on episodes by their ids."""

    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reasons of the episodes that the judge failed on."""


def judge_of(name: str, options: Mapping[str, Option] | None = None) -> Judge:
    """The judge of this name with its options.

    Raises `ConfigError` where there is none, where the object makes no judge, and for an option that it does
    not have, needs, or cannot take.
    """
    factory: Any = JUDGES.load(name)
    if not callable(factory):
        raise ConfigError(f"judge {name!r} is {type(factory).__name__}, not a factory of judges")
    given, declared = dict(options or {}), options_of(factory)
    typed: Any = factory.__init__ if inspect.isclass(factory) else factory
    hints = get_type_hints(typed, include_extras=True)
    known = {option: hints.get(option, Any) for option in declared}
    for option, value in given.items():
        check_option(name, option, value, known)
    missing = [
        option
        for option, argument in declared.items()
        if argument.default is argument.empty and option not in given
    ]
    if missing:
        raise ConfigError(f"judge {name!r} needs the option {missing[0]!r}: reward.options.{missing[0]}")
    try:
        judge: Any = factory(**given)
    except TypeError as cause:
        raise ConfigError(f"judge {name!r} cannot be made of options alone: {cause}") from cause
    _check_judge(name, judge)
    return judge


def _check_judge(name: str, judge: Any) -> None:
    """Raise `ConfigError` for an object without the attributes of a judge."""
    needed = ("version", "scale", "stochastic", "judge", "close")
    if absent := [attribute for attribute in needed if not hasattr(judge, attribute)]:
        raise ConfigError(f"judge {name!r} has no {absent[0]!r}: see agentevol.core.judges.Judge")
    if not isinstance(judge.version, str) or not judge.version:
        raise ConfigError(f"judge {name!r} has the version {judge.version!r}, not a text")
    try:
        lowest, highest = (float(end) for end in judge.scale)
    except (TypeError, ValueError):
        lowest = highest = float("nan")
    if not (isfinite(lowest) and isfinite(highest) and lowest < highest):
        raise ConfigError(f"judge {name!r} has the scale {judge.scale!r}, not a lowest and a highest score")


def as_text(episode: Trajectory) -> JudgedEpisode:
    """The episode as a judge sees it: without token ids, rewards and ending."""
    turns = tuple(JudgedTurn(_said(turn), turn.observation) for turn in episode.turns)
    return JudgedEpisode(
        episode.env, episode.task_id, episode.instruction, episode.initial_observation, turns, episode.seat
    )


def _said(turn: Turn) -> str:
    """Text of the model; of a reply in thinking modes the answer alone, as the environment got it."""
    has_mode = isinstance(turn.info.get("mode"), int)
    return turn.action if turn.sample is None or has_mode else turn.sample.text


async def judged(
    judge: Judge, episodes: Sequence[Trajectory], *, concurrency: int, timeout_s: float
) -> Judged:
    """Verdicts on all episodes, of which `concurrency` at most are judged at a time; closes the judge."""
    verdicts, failures, free = dict[str, Verdict](), dict[str, str](), asyncio.Semaphore(concurrency)

    async def ask(episode: Trajectory) -> None:
        async with free:
            limit = asyncio.timeout(timeout_s)
            try:
                async with limit:
                    verdict = await judge.judge(as_text(episode))
            except Exception as cause:  # noqa: BLE001 - whatever a user's judge raises
                late = isinstance(cause, TimeoutError) and limit.expired()
                failures[episode.id] = f"no verdict within {timeout_s:g} s" if late else described(cause)
                return
        if (fault := fault_of(verdict, judge.scale)) is not None:
            failures[episode.id] = fault
        else:
            verdicts[episode.id] = verdict

    try:
        async with asyncio.TaskGroup() as tasks:
            for episode in episodes:
                tasks.create_task(ask(episode))
    finally:
        await judge.close()
    for episode in episodes:  # a judge may cancel its own task
        if episode.id not in verdicts:
            failures.setdefault(episode.id, "gave no verdict")
    return Judged(dict(sorted(verdicts.items())), dict(sorted(failures.items())))


def fault_of(verdict: object, scale: tuple[float, float]) -> str | None:
    """Reason for which a judge's answer is no score on its scale; None for a score."""
    if not isinstance(verdict, Verdict):
        return f"gave {type(verdict).__name__}, not a Verdict"
    if not isinstance(verdict.reason, str):
        return f"gave the reason {verdict.reason!r}, not a text"
    if verdict.score is None:
        return verdict.reason or "gave neither a score nor a reason"
    if not _is_number(verdict.score) or not scale[0] <= verdict.score <= scale[1]:
        return f"gave the score {verdict.score!r}, not a number from {scale[0]:g} to {scale[1]:g}"
    wrong = [name for name, value in verdict.dimensions.items() if not _is_number(value)]
    return f"gave {verdict.dimensions[wrong[0]]!r} for {wrong[0]}, not a finite number" if wrong else None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(float(value))


def normalised(judge: Judge, verdicts: Mapping[str, Verdict]) -> dict[str, float]:
    """Episode -> score from 0, the lowest of the judge's scale, to 1, the highest."""
    lowest, highest = judge.scale
    return {
        name: (one.score - lowest) / (highest - lowest)
        for name, one in verdicts.items()
        if one.score is not None
    }
