"""State of an episode: `World`, copy-on-write tables with a record of calls and messages."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from agentgym_envs.tau.judging.judgement import Judgement, Line
from agentgym_envs.tooluse.tables import Row, Table

Base = Mapping[str, Mapping[str, Row]]
"""Rows by table and key, which all episodes share and none changes."""
Changes = dict[str, dict[str, Row | None]]
"""Changed rows by table and key, None for removed ones; only tables with changes."""


class Executed(NamedTuple):
    """Tool call that was executed, or refused by its tool."""

    name: str
    arguments: Mapping[str, Any]
    refused: bool = False
    text: str = ""
    """Answer of a tool that answers with a text; empty for a record, and for a refusal."""


class World:
    """Tables of the company, and what was called and said in this episode."""

    def __init__(self, base: Base) -> None:
        self.tables = {name: Table(rows) for name, rows in base.items()}
        self.calls: list[Executed] = []
        self.messages: list[str] = []
        """Messages of the agent to the user, in order."""
        self.dialogue: list[Line] = []
        """All texts of the episode, in order."""
        self.judgement: Judgement | None = None
        """Verdicts on statements about the dialogue, once a judge has given them."""
        self.seed = 0
        """Seed of the episode, where new rows get ids that depend on it."""
        self.has_seeded_ids = False
        """True once a row got such an id."""
        self.ended_by = ""
        """Name of the tool that ended the episode, or `user`."""
        self.quirks = False
        """True if known mistakes of the benchmark's tools are reproduced."""

    def table(self, name: str) -> Table:
        """A table by name."""
        return self.tables[name]

    def changes(self) -> Changes:
        """Net changes of the tables."""
        found = {name: table.changes() for name, table in self.tables.items()}
        return {name: rows for name, rows in found.items() if rows}

    def user_changes(self) -> object:
        """State of the customer's side that the verdict compares; equal for equal states."""
        return None

    def called(self, *names: str) -> bool:
        """True if one of these tools was called."""
        return any(call.name in names for call in self.calls)

    def take_back(self, before: "World") -> None:
        """Return to an earlier state, of which `before` is a copy that nobody else has."""
        self.__dict__.update(before.__dict__)

    def copy(self) -> "World":
        """A state that later calls on this one do not change."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.tables = {name: table.copy() for name, table in self.tables.items()}
        other.calls, other.messages = list(self.calls), list(self.messages)
        other.dialogue = list(self.dialogue)
        return other


def whole(world: World) -> dict[str, dict[str, Row]]:
    """All rows of all tables, as after applying the changes: slow, for checks."""
    return {name: {key: deepcopy(table[key]) for key in table} for name, table in world.tables.items()}
