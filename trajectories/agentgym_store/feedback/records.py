"""Feedback: one opinion of one source about an episode, or about a turn of it.

    {"trajectory_id": "first/explore/0001/guess-5/0", "turn": 2, "source": "human:Anna",
     "opinion": {"kind": "correction", "action": "open fridge 1"}, "note": "it was closed"}

Records are only added. `agentgym_store.feedback.latest.standing` finds those that no later one replaces.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any, Literal, get_args
from uuid import uuid4

from pydantic import Field, ValidationError, field_validator, model_validator

from agentgym_envs.core import Cost, Record
from agentgym_store.errors import StoreError

SourceKind = Literal["human", "judge", "environment", "self"]
SOURCE_KINDS: tuple[SourceKind, ...] = get_args(SourceKind)
Reason = Literal["unsafe", "cheating", "broken"]
REASONS: tuple[Reason, ...] = get_args(Reason)
Verdict = Literal["better", "worse", "tie"]
SWAPPED: Mapping[Verdict, Verdict] = {"better": "worse", "worse": "better", "tie": "tie"}
"""Verdicts as seen from the other episode."""

MOST_ID, MOST_NAME, MOST_NOTE, MOST_ACTION, MOST_DIMENSIONS = 2_000, 200, 10_000, 20_000, 100
"""Maximum lengths in characters: of an id, a name, a note, an action; and number of dimensions."""

_SOURCE = re.compile(rf"({'|'.join(SOURCE_KINDS)}):(.+)")

Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
EpisodeId = Annotated[str, Field(min_length=1, max_length=MOST_ID)]


class Score(Record):
    """A value on a scale."""

    kind: Literal["score"] = "score"
    value: Number
    low: Number
    """The worst value of the scale."""
    high: Number
    """The best value of the scale."""

    @model_validator(mode="after")
    def _is_on_its_scale(self) -> "Score":
        if self.low >= self.high:
            raise ValueError(
                f"a scale goes from a lower to a higher value, not from {self.low} to {self.high}"
            )
        if not isfinite(self.high - self.low):
            raise ValueError(f"the scale from {self.low:g} to {self.high:g} is too wide")
        if not self.low <= self.value <= self.high:
            raise ValueError(f"{self.value:g} is not on the scale from {self.low:g} to {self.high:g}")
        return self

    @property
    def share(self) -> float:
        """The value's place on its scale, in [0, 1]."""
        return (self.value - self.low) / (self.high - self.low)


class Dimensions(Record):
    """Values of several dimensions by name, on one scale."""

    kind: Literal["dimensions"] = "dimensions"
    values: Annotated[dict[str, Number], Field(min_length=1, max_length=MOST_DIMENSIONS)]
    low: Number | None = None
    """The worst value of the scale of all; None where they have none in common."""
    high: Number | None = None

    @field_validator("values")
    @classmethod
    def _have_names(cls, values: dict[str, float]) -> dict[str, float]:
        for name in values:
            if not is_name(name):
                raise ValueError(
                    f"the name of a dimension has 1 to {MOST_NAME} printable characters: {name!r}"
                )
        return values

    @model_validator(mode="after")
    def _are_on_their_scale(self) -> "Dimensions":
        low, high = self.low, self.high
        if (low is None) != (high is None):
            raise ValueError("a scale of dimensions has both low and high")
        if low is not None and high is not None:
            for value in self.values.values():
                Score(value=value, low=low, high=high)
        return self

    @property
    def shares(self) -> dict[str, float] | None:
        """Places on the scale, in [0, 1], by name; None without a scale."""
        low, high = self.low, self.high
        if low is None or high is None:
            return None
        return {name: (value - low) / (high - low) for name, value in self.values.items()}


class Comparison(Record):
    """This episode beside another one of its task."""

    kind: Literal["comparison"] = "comparison"
    other: EpisodeId
    verdict: Verdict
    """`better`: this episode is better than the other one."""
    probability: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)] | None = None
    """Probability that this episode is the better one, for a judge that told its own; None without one."""

    @model_validator(mode="after")
    def _verdict_fits_the_probability(self) -> "Comparison":
        p, verdict = self.probability, self.verdict
        if p is not None and ((verdict == "better" and p < 0.5) or (verdict == "worse" and p > 0.5)):
            raise ValueError(f"an episode that is {self.verdict} has no probability of {p:g}")
        return self

    def seen_from_other(self, this: str) -> "Comparison":
        """The same as the opinion on the other episode; `this` is the id of the present one."""
        probability = None if self.probability is None else 1 - self.probability
        return Comparison(other=this, verdict=SWAPPED[self.verdict], probability=probability)


class Correction(Record):
    """A better action for the turn."""

    kind: Literal["correction"] = "correction"
    action: Annotated[str, Field(max_length=MOST_ACTION)]

    @field_validator("action")
    @classmethod
    def _is_something(cls, action: str) -> str:
        if not action.strip():
            raise ValueError("a correction is an action, which is not empty")
        return action.strip()


class Flag(Record):
    """A reason not to learn from the episode."""

    kind: Literal["flag"] = "flag"
    reason: Reason


Opinion = Annotated[Score | Dimensions | Comparison | Correction | Flag, Field(discriminator="kind")]
Kind = Literal["score", "dimensions", "comparison", "correction", "flag"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def now() -> str:
    """The time in RFC 3339, UTC, with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Feedback(Record):
    """One opinion, its origin, and what it is about."""

    id: Annotated[str, Field(min_length=1, max_length=MOST_NAME)] = Field(default_factory=lambda: uuid4().hex)
    trajectory_id: EpisodeId
    turn: Annotated[int, Field(ge=0, lt=2**31, strict=True)] | None = None
    """Index of the turn, from 0; None for the whole episode."""
    source: str
    """`human:NAME`, `judge:MODEL`, `environment:RULE` or `self:CHECKPOINT`."""
    opinion: Opinion
    withdrawn: bool = False
    """True where the source no longer has this opinion, nor another one of this kind."""
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""
    created_at: str = Field(default_factory=now)
    """RFC 3339, with a time zone; kept in UTC."""
    rubric_version: Annotated[str, Field(max_length=MOST_NAME)] = ""
    """Version of the rubric by which a judge or a person scored; empty without one."""
    cost: Cost | None = None
    """Cost of the opinion in US dollars; None where it is not known."""

    @field_validator("source")
    @classmethod
    def _is_a_source(cls, source: str) -> str:
        match = _SOURCE.fullmatch(source)
        if match is None or not is_name(match[2]):
            kinds = ", ".join(f"{kind}:NAME" for kind in SOURCE_KINDS)
            raise ValueError(
                f"a source is one of {kinds}, with a name of 1 to {MOST_NAME} printable characters, not"
                f" {source[:100]!r}"
            )
        return source

    @field_validator("created_at")
    @classmethod
    def _is_a_time(cls, text: str) -> str:
        try:
            time = datetime.fromisoformat(text)
            if time.tzinfo is None:
                raise ValueError("no time zone")
            return time.astimezone(UTC).isoformat(timespec="microseconds")
        except (ValueError, OverflowError):
            raise ValueError(f"a time is like 2026-01-31T12:00:00Z, not {text[:100]!r}") from None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Feedback":
        opinion = self.opinion
        if isinstance(opinion, Correction) and self.turn is None:
            raise ValueError("a correction is of a turn")
        if isinstance(opinion, Comparison) and self.turn is not None:
            raise ValueError("a comparison is of whole episodes, not of a turn")
        if isinstance(opinion, Comparison) and opinion.other == self.trajectory_id:
            raise ValueError("an episode is not compared with itself")
        return self

    @property
    def kind(self) -> Kind:
        """Kind of the opinion."""
        return self.opinion.kind

    @property
    def episodes(self) -> tuple[str, ...]:
        """Ids of the episodes that the opinion is about: two of a comparison, else one."""
        other = (self.opinion.other,) if isinstance(self.opinion, Comparison) else ()
        return (self.trajectory_id, *other)

    @property
    def source_kind(self) -> str:
        """Kind of the source: `human`, ..."""
        return self.source.partition(":")[0]

    @property
    def source_name(self) -> str:
        """Name of the source within its kind."""
        return self.source.partition(":")[2]


def is_name(text: str) -> bool:
    """True for 1 to `MOST_NAME` printable characters without spaces at the ends."""
    return 0 < len(text) <= MOST_NAME and text.isprintable() and text == text.strip()


def feedback(values: Mapping[str, Any]) -> Feedback:
    """A validated record. Raises `StoreError` with one line that names the field at fault."""
    try:
        return Feedback.model_validate(dict(values))
    except ValidationError as cause:
        raise StoreError(problem(cause)) from cause


def problem(cause: ValidationError) -> str:
    """The first error of a record in one line."""
    error = cause.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in error["loc"])
    told = error["msg"].removeprefix("Value error, ")
    return f"{place}: {told}" if place else told
