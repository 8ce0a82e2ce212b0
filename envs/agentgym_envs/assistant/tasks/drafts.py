"""Drafts of tasks: an instruction, the program that solves it, and what is compared."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, NamedTuple

from agentgym_envs.assistant.session import Reason, Session, Status

AnswerType = Literal[
    "number", "integer", "date", "datetime", "string", "boolean", "list_string", "list_integer", "object"
]


class Step(NamedTuple):
    """A call of a tool in a program."""

    tool: str
    arguments: dict[str, Any]


class Final(NamedTuple):
    """The submission at the end of a program."""

    status: Status = "done"
    answer: Any = None
    reason_code: Reason | None = None


Program = Generator[Step, Any, Final]
"""Yields calls and receives their results. It uses what the instruction says, and the results alone."""
Predicate = Callable[[Session], bool]
"""Condition on what an episode called and saw."""


class Matcher(NamedTuple):
    """Rule for a text of a new row whose wording is the agent's."""

    kind: Literal["contains_all", "any"]
    words: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Words that the text may not have, in `contains_all`."""
    number: int | None = None
    """The only whole number of the text beside dates, times and the numbers of list items."""


@dataclass(frozen=True)
class Draft:
    """A task before its gold."""

    instruction: str
    program: Callable[[], Program]
    applications: tuple[str, ...]
    """Applications whose tools are offered."""
    answer: AnswerType | None = None
    tolerance: float = 1e-6
    """Of a number: absolute if the instruction asks for a rounded one, else relative."""
    expected: Any = None
    """The answer by a query of its own, without the program."""
    changes: frozenset[tuple[str, Any]] | None = None
    """Tables and keys of the rows that change, by a query of their own; None for new rows only."""
    refusal: tuple[Reason, ...] = ()
    """Accepted reasons, for a task that has to be refused."""
    refused_part: tuple[Reason, ...] = ()
    """Accepted reasons, where a part of the task has to be refused; none need be given."""
    evidence: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    """Table to keys of rows that a reading tool has to return before the end."""
    looks: tuple[Predicate, ...] = ()
    """Conditions on what has been looked at before the end, where no row can show it."""
    policy: tuple[Predicate, ...] = ()
    matchers: Mapping[tuple[str, str], Matcher] = field(default_factory=dict[tuple[str, str], Matcher])
    """Table and column to the rule for its texts in new rows."""
    replies: tuple[tuple[str, str], ...] = ()
    """Pattern of a question, and the user's reply."""
    failing: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tool to the number of its first calls that fail."""


class Setting(NamedTuple):
    """The office in which a task is drafted, and the choices of its draft."""

    random: Random
    session: Session
    split: str

    def row(self, sql: str, *values: Any) -> dict[str, Any] | None:
        """A random row of a query; None if there is none."""
        rows = self.rows(sql, *values)
        return self.random.choice(rows) if rows else None

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """All rows of a query on the office."""
        return self.session.office.rows(sql, *values)

    def known(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a query on the knowledge."""
        return self.session.office.knowledge.execute(sql, values).fetchall()

    def say(self, *phrasings: str) -> str:
        """One of several phrasings of the same request."""
        return self.random.choice(phrasings)


Template = Callable[[Setting], Draft | None]
"""Drafts a task in an office; None where the office has no fitting content."""


def call(tool: str, **arguments: Any) -> Step:
    """A step of a program."""
    return Step(tool, arguments)


def called(tool: str, fits: Callable[[Mapping[str, Any]], bool]) -> Predicate:
    """True if a tool was called with arguments that fit."""
    return lambda session: any(name == tool and fits(given) for name, given in session.called)


def either(*predicates: Predicate) -> Predicate:
    """True if one of the predicates is."""
    return lambda session: any(holds(session) for holds in predicates)


def asked_before(tool: str, pattern: str) -> Predicate:
    """True if the user was asked about the pattern before the first call of a tool, if there is one."""

    def holds(session: Session) -> bool:
        for name, given in session.called:
            if name == tool:
                return False
            if name == "ask_user" and re.search(pattern, given["question"].lower()):
                return True
        return False

    return holds
