"""State of an episode, which the tools read and change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from agentgym_envs.assistant.database import Office

Sighting = tuple[str, tuple[Any, ...]]
"""Table, and keys of the rows that a reading tool returned."""
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


@dataclass(slots=True)
class Session:
    """Everything an episode has: the office, knowledge, the user, and what has happened."""

    office: Office
    replies: Sequence[tuple[str, str]] = ()
    """Pattern of a question, and the user's reply."""
    failing: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tool to the number of its first calls that fail."""
    sightings: list[Sighting] = field(default_factory=list[Sighting])
    """The rows that reading tools returned."""
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    """Name and arguments of the calls that succeeded, in their order."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    """Tool to the number of calls that failed so far, of those that `failing` asks for."""
    questions: int = 0
    """Questions that were put to the user."""
    submission: Submission | None = None

    def copy(self) -> "Session":
        """A session that continues from here on its own."""
        return Session(
            self.office.copy(),
            self.replies,
            self.failing,
            list(self.sightings),
            list(self.called),
            dict(self.failures),
            self.questions,
            self.submission,
        )

    def saw(self, table: str, keys: Iterable[Any]) -> None:
        """Note the rows that a tool returned."""
        self.sightings.append((table, tuple(keys)))

    def has_seen(self, table: str, keys: Iterable[Any]) -> bool:
        """True if reading tools returned all these rows."""
        seen = {key for name, some in self.sightings if name == table for key in some}
        return seen.issuperset(keys)
