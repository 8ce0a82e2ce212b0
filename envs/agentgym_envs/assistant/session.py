"""State of an episode, which the tools read and change."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from agentgym_envs.assistant.database import Office

Status = Literal["done", "answer", "cannot"]
Reason = Literal["not_found", "ambiguous", "not_permitted", "conflict", "missing_information", "out_of_scope"]
REASONS: tuple[Reason, ...] = (
    "not_found",
    "ambiguous",
    "not_permitted",
    "conflict",
    "missing_information",
    "out_of_scope",
)


class Submission(NamedTuple):
    """The final word of an agent."""

    status: Status
    answer: Any
    reason_code: Reason | None


@dataclass
class Session:
    """Everything an episode has: the office, knowledge, the user, and what has happened."""

    office: Office
    knowledge: sqlite3.Connection
    replies: Sequence[tuple[str, str]] = ()
    """Pattern of a question, and the user's reply."""
    failing: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tool to the number of its first calls that fail."""
    seen: dict[str, set[Any]] = field(default_factory=dict[str, set[Any]])
    """Table to the keys of the rows that reading tools returned."""
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """Name and arguments of the calls that succeeded, in their order."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """Tool to the number of calls that failed so far, of those that `failing` asks for."""
    questions: int = 0
    """Questions that were put to the user."""
    submission: Submission | None = None

    def copy(self) -> "Session":
        """A session that continues from here on its own."""
        return replace(
            self,
            office=self.office.copy(),
            seen={table: set(keys) for table, keys in self.seen.items()},
            called=list(self.called),
            failures=dict(self.failures),
        )

    def saw(self, table: str, keys: Sequence[Any]) -> None:
        """Note the rows that a tool returned."""
        self.seen.setdefault(table, set()).update(keys)
