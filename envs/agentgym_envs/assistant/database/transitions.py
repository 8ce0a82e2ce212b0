"""Transitions of an office that were computed before.

An office is determined by how it was generated and by the statements that changed it, and so is the result of
a call. Samples of one task, and tasks of one office, repeat many calls: their results are kept.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentgym_envs.assistant.database.changes import NetChange
from agentgym_envs.core import StepResult

Statement = tuple[str, tuple[Any, ...]]
Sighting = tuple[str, tuple[Any, ...]]
"""Table, and keys of the rows that a reading tool returned."""
MOST_KEPT = 2_000
"""States and transitions of one office; beyond them all are forgotten."""


class Transition(NamedTuple):
    """Effect of an action in a state."""

    tool: str
    arguments: dict[str, Any]
    result: StepResult
    """As it was, without an end."""
    sightings: tuple[Sighting, ...]
    after: "State"


@dataclass(eq=False)
class State:
    """An office after certain statements."""

    cache: "TransitionCache"
    changes: tuple[Statement, ...] = ()
    transitions: dict[str, Transition] = field(default_factory=dict[str, Transition])
    """By the text of the action."""
    change: NetChange | None = None
    """The net change, once it was asked for."""

    def add(self, action: str, transition: Transition) -> None:
        """Remember the effect of an action."""
        self.cache.make_room()
        self.transitions[action] = transition

    def after(self, changes: tuple[Statement, ...]) -> "State":
        """The state after more statements."""
        return self if changes == self.changes else self.cache.state(changes)


class TransitionCache:
    """The known states of one office."""

    def __init__(self) -> None:
        self._kept = 0
        self._states = dict[tuple[Statement, ...], State]()

    def state(self, changes: tuple[Statement, ...] = ()) -> State:
        """The state after certain statements."""
        found = self._states.get(changes)
        if found is None:
            self.make_room()
            found = self._states[changes] = State(self, changes)
        return found

    def make_room(self) -> None:
        """Count one more state or transition; beyond `MOST_KEPT` of them all are forgotten first."""
        self._kept += 1
        if self._kept > MOST_KEPT:
            self.clear()

    def clear(self) -> None:
        """Forget all states; episodes keep those that they are in."""
        self._kept = 0
        self._states.clear()
