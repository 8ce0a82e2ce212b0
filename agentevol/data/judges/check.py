"""Conformance checks of judges on example episodes.

> check_judge("rubric", {"model": "..."}).lines()[0]
'ok    verdicts    13 checked'

`agentevol check judge NAME` prints the report.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random

from agentevol.core.algorithms.contract import Option
from agentevol.core.conformance import Violations, check_result, unless
from agentevol.core.judges import Judge, JudgedEpisode, JudgedTurn, Verdict
from agentevol.data.judges.judging import as_text, fault_of, judge_of
from agentevol.data.rewards.testing import HOSTILE, example_episodes
from agentgym_envs.testing import Report

LONG = "The lamp is on the desk. " * 40_000
"""A text of about a megabyte."""


def check_judge(name: str, options: Mapping[str, Option] | None = None, *, concurrency: int = 8) -> Report:
    """Hold a judge against its contract. Raises `ConfigError` where there is none."""
    judge = judge_of(name, options)
    asyncio.run(judge.close())
    make = partial(judge_of, name, options)
    checks: dict[str, Callable[[], Violations]] = {
        "verdicts": partial(_verdicts, make, _examples(1), concurrency),
        "extremes": partial(_verdicts, make, _extremes(), concurrency),
        "identity": partial(_identity, make, judge),
    }
    if not judge.stochastic:
        checks["equal"] = partial(_equal, make, concurrency)
        checks["order"] = partial(_order, make, concurrency)
    return Report(env=name, results=tuple(check_result(kind, check) for kind, check in checks.items()))


def _examples(seed: int) -> list[JudgedEpisode]:
    return [as_text(episode) for episode in example_episodes(seed)]


def _extremes() -> list[JudgedEpisode]:
    """Episodes without a turn, with hostile texts in every place, and with very long ones."""
    return [
        JudgedEpisode("example", "task", "Find the lamp.", "You see a desk.", ()),
        JudgedEpisode("", "", "", "", ()),
        *(JudgedEpisode("example", "task", text, text, (JudgedTurn(text, text),)) for text in HOSTILE),
        JudgedEpisode("example", "task", "Find the lamp.", LONG, (JudgedTurn(LONG, "A lamp."),)),
    ]


def _ask(
    make: Callable[[], Judge], episodes: Sequence[JudgedEpisode], concurrency: int
) -> list[Verdict | Exception]:
    """Verdicts of a new judge in the order of the episodes, or what it raised."""

    async def asked() -> list[Verdict | Exception]:
        judge, free = make(), asyncio.Semaphore(concurrency)

        async def one(episode: JudgedEpisode) -> Verdict | Exception:
            async with free:
                try:
                    return await judge.judge(episode)
                except Exception as cause:  # noqa: BLE001 - whatever a user's judge raises is a finding
                    return cause

        found = await asyncio.gather(*(one(episode) for episode in episodes))
        await judge.close()
        await judge.close()  # a second time has no effect
        return found

    return asyncio.run(asked())


def _verdicts(make: Callable[[], Judge], episodes: Sequence[JudgedEpisode], concurrency: int) -> Violations:
    """A verdict for every episode: a score on the scale, or none with a reason; nothing is raised."""
    scale = make().scale
    for place, verdict in enumerate(_ask(make, episodes, concurrency)):
        told = f"for example {place}"
        if isinstance(verdict, Exception):
            yield f"raised {type(verdict).__name__}: {str(verdict)[:200]}, {told}"
        elif isinstance(verdict, Verdict) and verdict.score is None:
            yield unless(bool(verdict.reason), f"gave neither a score nor a reason, {told}")
        else:
            fault = fault_of(verdict, scale)
            yield unless(fault is None, f"{fault}, {told}")


def _identity(make: Callable[[], Judge], first: Judge) -> Violations:
    """Equal options give the same version, scale and declaration."""
    again = make()
    for name in ("version", "scale", "stochastic"):
        was, now = getattr(first, name), getattr(again, name)
        yield unless(was == now, f"{name} is {now!r}, and was {was!r} before with equal options")


def _equal(make: Callable[[], Judge], concurrency: int) -> Violations:
    """Equal episodes have equal scores, asked again and by another judge with equal options."""
    episodes = _examples(2)
    first, again = _scores(make, [*episodes, *episodes], concurrency), _scores(make, episodes, concurrency)
    yield unless(first == again + again, "equal episodes have other scores: declare `stochastic = True`")


def _order(make: Callable[[], Judge], concurrency: int) -> Violations:
    """The order of episodes, and how many are judged at a time, change nothing."""
    episodes = _examples(3)
    mixed = Random(0).sample(range(len(episodes)), len(episodes))
    alone = _scores(make, episodes, 1)
    after = _scores(make, [episodes[place] for place in mixed], concurrency)
    yield unless(
        after == [alone[place] for place in mixed], "episodes have other scores in another order, or alone"
    )


def _scores(
    make: Callable[[], Judge], episodes: Sequence[JudgedEpisode], concurrency: int
) -> list[tuple[float | None, Mapping[str, float]] | str]:
    return [
        (one.score, dict(one.dimensions)) if isinstance(one, Verdict) else repr(one)
        for one in _ask(make, episodes, concurrency)
    ]
