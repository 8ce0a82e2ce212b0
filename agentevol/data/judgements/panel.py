"""Panel of judges: `Panel` judges an item by all of them, each within a time limit."""

import asyncio
import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Any, assert_never

from pydantic import Field

from agentevol.core.errors import described
from agentevol.data.judgements.aggregation import Aggregate, combined, normalised, overall, spread
from agentevol.data.judgements.dimension_sets import DimensionSet, dimensions_of
from agentevol.data.judgements.items import Conversation, Episode, Item, Recording, Social, Transcript
from agentevol.data.judgements.judges.interface import ItemJudge
from agentevol.data.judgements.outcomes import (
    Failed,
    FailureKind,
    NoRating,
    Ok,
    Opinion,
    Scored,
    Scores,
    Unscored,
    Usage,
    sendable,
)
from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.dimensions import Dimension


class Asked(Record):
    """Requests to the judges for every item of a batch."""

    dimensions: DimensionSet | None = None
    """None: Sotopia's for conversations, those of the rubric for transcripts."""
    samples: Annotated[int, Field(ge=1, le=32, strict=True)] = 1
    """Judgements of each judge that is a model."""
    aggregate: Aggregate = "mean"
    """Of samples and of judges."""


class Panel:
    """Judges that judge every item; an item has scores if all of them give some."""

    def __init__(self, judges: Sequence[ItemJudge], timeout_s: float = 600.0) -> None:
        """`timeout_s`: limit of one judge for one item, with the time that it waits for its turn."""
        self.judges = tuple(judges)
        self._timeout_s = timeout_s

    def of(self, names: Sequence[str]) -> "Panel":
        """Panel of the judges of these names. Raises `ValueError` for one that there is not."""
        known = {one.name: one for one in self.judges}
        if unknown := [name for name in names if name not in known]:
            raise ValueError(f"no judge {unknown[0][:80]!r}; there are: {', '.join(known)}")
        return Panel([known[name] for name in dict.fromkeys(names)], self._timeout_s)

    def key(self, item: Item, asked: Asked) -> str:
        """Digest of all that the scores of an item depend on."""
        judges = [(one.name, one.version) for one in self.judges]
        told = [item.digest, judges, asked.model_dump(mode="json")]
        return sha256(json.dumps(told).encode()).hexdigest()[:16]

    async def judge(self, item: Item, asked: Asked) -> Ok | Failed:
        """Judgement of an item; raises nothing but the cancellation of its task."""
        dimensions = dimensions_of(item.dimensions or asked.dimensions or default_dimensions(item))
        opinions = await asyncio.gather(
            *(self._opinion(judge, item, dimensions, asked) for judge in self.judges)
        )
        return judgement(sendable(item.id), self.key(item, asked), dimensions, opinions, asked.aggregate)

    async def _opinion(
        self, judge: ItemJudge, item: Item, dimensions: Sequence[Dimension], asked: Asked
    ) -> Opinion:
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                samples, usage = await judge.rate(item, dimensions, asked.samples)
            scores = [_checked(one.scores, item.seats, dimensions) for one in samples]
            return Scored(
                judge=judge.name,
                version=judge.version,
                scores=combined(scores, asked.aggregate),
                spread=spread(scores),
                samples=tuple(samples),
                usage=usage,
            )
        except NoRating as none:
            return _unscored(judge, none.kind, str(none), none.usage)
        except Exception as cause:  # noqa: BLE001 - a bug in one judge loses one item
            if isinstance(cause, TimeoutError) and limit.expired():
                return _unscored(judge, "timeout", f"no rating within {self._timeout_s:g} s")
            return _unscored(judge, "internal", described(cause))


def judgement(
    name: str, key: str, dimensions: Sequence[Dimension], opinions: Sequence[Opinion], aggregate: Aggregate
) -> Ok | Failed:
    """Judgement of an item from the opinions of its judges."""
    failed = next((one for one in opinions if isinstance(one, Unscored)), None)
    if failed is not None:
        detail = failed.detail if len(opinions) == 1 else f"{failed.judge}: {failed.detail}"
        return Failed(id=name, key=key, opinions=tuple(opinions), kind=failed.kind, detail=detail)
    scored = [one for one in opinions if isinstance(one, Scored)]
    scores = combined([one.scores for one in scored], aggregate)
    return Ok(
        id=name,
        key=key,
        opinions=tuple(opinions),
        scores=scores,
        overall=tuple(overall(seat) for seat in scores),
        normalised=tuple(normalised(seat, dimensions) for seat in scores),
        spread=spread([sample.scores for one in scored for sample in one.samples]),
    )


def default_dimensions(item: Item) -> DimensionSet:
    """Set of dimensions of an item for which none is named."""
    match item:
        case Conversation() | Episode() | Recording() | Social():
            return "sotopia"
        case Transcript():
            return "rubric"
    assert_never(item)


def described_judges(judges: Sequence[ItemJudge]) -> list[dict[str, Any]]:
    """Name, version and facts of each judge."""
    return [{"name": one.name, "version": one.version, **one.facts()} for one in judges]


def _checked(scores: Scores, seats: int, dimensions: Sequence[Dimension]) -> Scores:
    """The scores, if they are those that were asked for. Raises `NoRating`."""
    if len(scores) != seats:
        raise NoRating("internal", f"the judge scored {len(scores)} seats, not {seats}")
    for seat in scores:
        if set(seat) != {one.name for one in dimensions}:
            raise NoRating("internal", f"the judge scored {', '.join(seat) or 'nothing'}")
        for one in dimensions:
            score = seat[one.name]
            if score is not None and not one.low <= score <= one.high:
                raise NoRating("internal", f"the score {score:g} of {one.name} is out of range")
    return scores


def _unscored(judge: ItemJudge, kind: FailureKind, detail: str, usage: Usage | None = None) -> Unscored:
    return Unscored(
        judge=judge.name, version=judge.version, kind=kind, detail=sendable(detail), usage=usage or Usage()
    )
