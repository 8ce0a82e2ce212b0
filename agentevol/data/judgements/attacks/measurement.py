"""Movement of a judge's scores by each attack: the same transcripts judged with and without it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.attacks.texts import ATTACKS, Attack, attacked
from agentevol.data.judgements.dimension_sets import dimensions_of
from agentevol.data.judgements.items import Item, Transcript
from agentevol.data.judgements.outcomes import Failed, Ok, Usage
from agentevol.data.judgements.panel import Asked, Panel

MOVED = 1e-9
"""Smallest difference of scores that counts."""


@dataclass(frozen=True)
class Movement:
    """Scores with an attack beside those without it."""

    attack: Attack
    differences: tuple[float, ...]
    """Of each transcript that was judged both times: score with the attack less the one without it, where a
    score is the mean of the dimensions as shares of their ranges.
    """
    failed: int
    """Transcripts that the judge failed on, with the attack or without it."""

    @property
    def upwards(self) -> float | None:
        """Share of transcripts whose score rose; None where none was judged both times."""
        found = self.differences
        return fmean(one > MOVED for one in found) if found else None


def measured(
    items: Sequence[Item],
    panel: Panel,
    asked: Asked,
    *,
    concurrency: int = 64,
    tell: Callable[[Ok | Failed], object] = lambda _: None,
) -> tuple[list[Movement], Usage]:
    """Movement by each attack of the set, and what the judgements took; `panel` has one judge.

    Raises `ConfigError` for items that are no transcripts, and where none has a turn.
    """
    if other := [one.id for one in items if not isinstance(one, Transcript)]:
        raise ConfigError(f"the attack set is for transcripts; item {other[0]!r} is none")
    chosen = [one for one in items if isinstance(one, Transcript) and one.turns]
    if not chosen:
        raise ConfigError("there is no transcript with a turn to attack")
    return asyncio.run(_measured(chosen, panel, asked, concurrency, tell))


async def _measured(
    items: Sequence[Transcript],
    panel: Panel,
    asked: Asked,
    concurrency: int,
    tell: Callable[[Ok | Failed], object],
) -> tuple[list[Movement], Usage]:
    free = asyncio.Semaphore(concurrency)

    async def judged(item: Transcript) -> Ok | Failed:
        async with free:
            found = await panel.judge(item, asked)
        tell(found)
        return found

    plain = await asyncio.gather(*map(judged, items))
    movements, usage = list[Movement](), sum((one.usage for one in plain), Usage())
    for attack in ATTACKS:
        variants = [
            attacked(one, attack, dimensions_of(one.dimensions or asked.dimensions or "rubric"))
            for one in items
        ]
        found = await asyncio.gather(*map(judged, variants))
        usage = sum((one.usage for one in found), usage)
        movements.append(_movement(attack, plain, found))
    return movements, usage


def _movement(attack: Attack, plain: Sequence[Ok | Failed], found: Sequence[Ok | Failed]) -> Movement:
    pairs = [(_score(before), _score(after)) for before, after in zip(plain, found, strict=True)]
    both = [(before, after) for before, after in pairs if before is not None and after is not None]
    return Movement(attack, tuple(after - before for before, after in both), len(pairs) - len(both))


def _score(judgement: Ok | Failed) -> float | None:
    """Mean of the dimensions' shares; None without scores."""
    if isinstance(judgement, Failed):
        return None
    shares = [share for share in judgement.normalised[0].values() if share is not None]
    return fmean(shares) if shares else None
