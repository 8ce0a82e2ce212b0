"""Filters and order of a list of episodes, as the address of its page has them.

?env=alfworld&iteration=3&outcome=lost&min_turns=10&q=microwave&sort=-turn_count
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from agentevol.ui.episodes.endings import ENDING
from agentevol.ui.errors import BadQuery
from agentgym_store.table.where import Where

SORTS = {
    "started_at": "time",
    "iteration": "iteration",
    "total_reward": "return",
    "turn_count": "turns",
    "sampled_tokens": "tokens",
    "wall_s": "duration",
    "task_id": "task",
    "id": "id",
}
"""Columns by which episodes are sorted, and their names on the page."""
OUTCOMES = {"won": "won", "lost": "not won", "unscored": "no return"}
FEEDBACK = {
    "any": "any",
    "score": "rated",
    "dimensions": "rated by dimensions",
    "comparison": "compared",
    "correction": "corrected",
    "flag": "flagged",
    "none": "none",
}
"""`agentgym_store.feedback.about.WANTED`, and their names on the page."""
MODES = {1: "1", 2: "2", 3: "3", 4: "4", -1: "malformed"}
"""Thinking modes of a turn."""
MOST_TEXT = 500
"""Characters of a text that is searched for."""


@dataclass(frozen=True)
class Filters:
    """Filter and order. Every filter that is not None or empty must hold."""

    env: str | None = None
    split: str | None = None
    purpose: str | None = None
    iteration: int | None = None
    ending: str | None = None
    """With its reason: `truncated(max_turns)`."""
    outcome: str | None = None
    """A key of `OUTCOMES`."""
    policy: str | None = None
    kind: str | None = None
    difficulty: str | None = None
    task: str | None = None
    min_reward: float | None = None
    max_reward: float | None = None
    min_turns: int | None = None
    max_turns: int | None = None
    feedback: str | None = None
    """A key of `FEEDBACK`: opinions that stand about the episode."""
    mode: int | None = None
    """Episodes with a turn in this thinking mode."""
    q: str | None = None
    """Text that an observation, an action, a message, or the instruction contains, in any case."""
    sort: str = "-started_at"
    """A key of `SORTS`, after a minus in descending order."""

    @property
    def column(self) -> str:
        """Column of the order."""
        return self.sort.removeprefix("-")

    @property
    def descending(self) -> bool:
        """True for the greatest first."""
        return self.sort.startswith("-")

    @property
    def reads_turns(self) -> bool:
        """True if turns have to be read."""
        return bool(self.q) or self.mode is not None

    def where(self) -> Where:
        """The part that skips files and row groups."""
        kind, _, _ = (self.ending or "").partition("(")
        return Where(
            iteration=self.iteration,
            purpose=self.purpose,
            ending=kind or None,
            env=self.env,
            split=self.split,
            kind=self.kind,
            policy=self.policy,
            task_ids=None if self.task is None else [self.task],
            min_reward=self.min_reward,
            max_reward=self.max_reward,
        )

    def rest(self) -> pl.Expr:
        """The part that `where` leaves out, over the columns of episodes."""
        turns, won = pl.col("turn_count"), pl.col("succeeded")
        conditions = [pl.lit(True)]
        if self.ending is not None:
            conditions.append(ENDING.eq(self.ending))
        if self.outcome is not None:
            conditions.append({"won": won, "lost": ~won, "unscored": won.is_null()}[self.outcome])
        if self.difficulty is not None:
            conditions.append(pl.col("difficulty") == self.difficulty)
        if self.min_turns is not None:
            conditions.append(turns >= self.min_turns)
        if self.max_turns is not None:
            conditions.append(turns <= self.max_turns)
        return pl.all_horizontal(conditions).fill_null(False)

    def query(self, **changes: object) -> dict[str, object]:
        """Parameters of an address with these filters, but for `changes`."""
        found = {one.name: getattr(self, one.name) for one in fields(self)} | changes
        if found["sort"] == Filters.sort:
            del found["sort"]
        return {name: value for name, value in found.items() if value not in (None, "")}

    def active(self) -> dict[str, object]:
        """The filters that are set, without the order."""
        return {name: value for name, value in self.query().items() if name != "sort"}


def filters_of(parameters: Mapping[str, str]) -> Filters:
    """Filters in the parameters of an address; others are ignored. Raises `BadQuery`."""
    given: dict[str, Any] = {}
    for one in fields(Filters):
        text = parameters.get(one.name, "").strip()
        if text:
            given[one.name] = _value(one.name, str(one.type), text)
    _check(given)
    return Filters(**given)


def _value(name: str, kind: str, text: str) -> object:
    try:
        return int(text) if kind.startswith("int") else float(text) if kind.startswith("float") else text
    except ValueError:
        raise BadQuery(f"{name}: “{text[:100]}” is not a number.", "Change or clear this filter.") from None


def _check(given: Mapping[str, Any]) -> None:
    allowed = {
        "sort": [*SORTS, *(f"-{column}" for column in SORTS)],
        "outcome": list(OUTCOMES),
        "mode": list(MODES),
        "feedback": list(FEEDBACK),
    }
    for name, values in allowed.items():
        if name in given and given[name] not in values:
            told = ", ".join(map(str, values))
            raise BadQuery(f"{name}: “{given[name]}” is none of {told}.", "Change or clear this filter.")
    if any(isinstance(value, int) and abs(value) >= 2**63 for value in given.values()):
        raise BadQuery("A number of this address is too large.", "Change or clear this filter.")
    if len(given.get("q", "")) > MOST_TEXT:
        raise BadQuery(
            f"The text to search for is longer than {MOST_TEXT} characters.", "Search for a part of it."
        )
