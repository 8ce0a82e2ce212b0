"""States of episodes, and the tools that all five environments have."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from agentgym_envs import knowledge
from agentgym_envs.tooluse import tool


@dataclass
class EpisodeState:
    """State of an episode: what its tools returned, and what `finish` was given."""

    split: str
    world: int
    """Number of the world among those of the split."""
    valid: tuple[str, ...] = ()
    """Names of the tools."""
    seen: set[str] = field(default_factory=set[str])
    """Keys of the rows that tools have returned."""
    given: Any = None
    """The answer, once it is given."""

    def copy(self) -> Self:
        """A state that later calls on this one do not change."""
        return replace(self, seen=set(self.seen))

    def knows(self, row: str) -> bool:
        """True if tools have returned a row, or rows from which it follows."""
        return row in self.seen

    def change(self) -> Any:
        """Difference to the beginning as a JSON value, None if there is none."""
        return None

    def reached(self, change: Any) -> bool:
        """True if the difference to the beginning is `change`."""
        return self.change() == change


@dataclass
class KnowingState(EpisodeState):
    """State of an environment whose data are a knowledge database."""

    def rows(self, query: str, *values: object) -> list[Any]:
        """Rows of a fixed query."""
        return knowledge.connection(self.split, self.world).execute(query, values).fetchall()


@tool("read")
def check_valid_actions(state: EpisodeState) -> list[str]:
    """List the names of the actions."""
    return list(state.valid)


@tool("control")
def finish(state: EpisodeState, answer: str | float | bool | list[Any] | None) -> Any:
    """End the task with its answer, which is returned. Only the first call counts.

    Args:
        answer: The answer, of the type that the goal asks for.
    """
    state.given = answer
    return answer


def named(rows: Sequence[Sequence[Any]], *columns: str) -> list[dict[str, Any]]:
    """Rows as objects."""
    return [dict(zip(columns, row, strict=True)) for row in rows]
