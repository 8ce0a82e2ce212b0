"""Judgements of items: `Judgement`, with the `Opinion` of each judge. Each is ok, or failed without a score.

{"status": "ok", "id": "a", "scores": [{"goal": 8.0}, {"goal": 3.5}], "overall": [8.0, 3.5], ...}
{"status": "failed", "id": "b", "kind": "judge", "detail": "the judge's endpoint failed 3 times; ...", ...}
"""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Record

FailureKind = Literal["judge", "timeout", "undecided", "unsupported", "not-recorded", "budget", "internal"]
"""`judge`: its endpoint failed, or gave no judgement; `timeout`: the item took too long; `undecided`: rules
do not find what was agreed; `unsupported`: the judge cannot judge such an item; `not-recorded`: a replay does
not have it; `budget`: it is spent; `internal`: a bug.
"""
FAILURES: Final[tuple[FailureKind, ...]] = get_args(FailureKind)

Score = Annotated[float, Field(allow_inf_nan=False)]
SeatScores = dict[str, Score | None]
"""Scores of a seat by dimension; None where the judge defines none, which is not 0."""
Scores = tuple[SeatScores, ...]
"""By seat: of two in a conversation, of one in a transcript."""


class Rating(Record):
    """Scores of one sample of one judge, with its reasons."""

    scores: Scores
    reasons: tuple[dict[str, str], ...] = ()
    """By seat and dimension."""


class Usage(Record):
    """Calls of a judge's endpoint, with their tokens and cost."""

    requests: int = 0
    cached: int = 0
    """Answers that needed no call."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0
    """Calls whose tokens are estimated, because the endpoint reported none."""
    cost: float | None = None
    """In US dollars; None without prices."""

    def __add__(self, other: "Usage") -> "Usage":
        costs = [one.cost for one in (self, other) if one.cost is not None]
        return Usage(
            requests=self.requests + other.requests,
            cached=self.cached + other.cached,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            estimated=self.estimated + other.estimated,
            cost=sum(costs) if costs else None,
        )


class NoRating(Exception):
    """A judge gives no rating; `kind` says why, and the text in words. `usage` is what it took."""

    def __init__(self, kind: FailureKind, detail: str, usage: Usage | None = None) -> None:
        super().__init__(detail)
        self.kind: FailureKind = kind
        self.usage = Usage() if usage is None else usage


class _Opinion(Record):
    judge: str
    """Name of the judge."""
    version: str
    """Fingerprint of the judge: scores of two versions are not compared."""
    usage: Usage = Usage()


class Scored(_Opinion):
    """Scores of one judge: the mean or median of its samples."""

    status: Literal["ok"] = "ok"
    scores: Scores
    spread: Scores
    """The largest minus the smallest sample."""
    samples: tuple[Rating, ...]


class Unscored(_Opinion):
    """Failure of one judge."""

    status: Literal["failed"] = "failed"
    kind: FailureKind
    detail: str


Opinion = Annotated[Scored | Unscored, Field(discriminator="status")]
"""Opinion of one judge on an item."""


class _Judgement(Record):
    id: str
    key: str
    """Digest of the item's content and of all that its scores depend on."""
    opinions: tuple[Opinion, ...]
    """By judge, in their order."""

    @property
    def usage(self) -> Usage:
        """Calls of all judges."""
        return sum((one.usage for one in self.opinions), Usage())


class Ok(_Judgement):
    """Scores of an item: the mean or median of its judges, which all gave some."""

    status: Literal["ok"] = "ok"
    scores: Scores
    overall: tuple[Score | None, ...]
    """By seat: mean of the raw scores; None unless every dimension has one."""
    normalised: Scores
    """Scores from 0, the lowest of a dimension's range, to 1, the highest."""
    spread: Scores
    """The largest minus the smallest of all samples of all judges."""


class Failed(_Judgement):
    """Item that at least one judge gave no score for: fewer judges would be another judge."""

    status: Literal["failed"] = "failed"
    kind: FailureKind
    """That of the first judge that failed."""
    detail: str


Judgement = Annotated[Ok | Failed, Field(discriminator="status")]
"""Judgement of an item."""


def sendable(text: str) -> str:
    """The text without lone surrogates, which neither a request nor a file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def counted(judgements: Sequence[Ok | Failed]) -> dict[str, int]:
    """Number of judgements by outcome, `ok` first; the numbers add up to all."""
    found = {"ok": sum(one.status == "ok" for one in judgements)}
    for kind in FAILURES:
        number = sum(one.status == "failed" and one.kind == kind for one in judgements)
        if number:
            found[f"failed({kind})"] = number
    return found
