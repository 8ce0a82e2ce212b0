"""Points of episodes that were reached before, and the effects of their actions.

An episode is determined by its task and its actions: samples of one task repeat many of them, and a call that
was executed at a point once need not be executed there again.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from agentgym_envs.assistant.session import Session
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.tooluse import Toolset

MOST_KEPT = 2_000
"""Points of one office; beyond them all are forgotten."""
LONGEST = 1_000
"""Characters of an action whose effect is kept."""
_new_result = StepResult.__pydantic_validator__.validate_python
"""The constructor in half the time, which is most of the time of a known step."""


class Point:
    """A point of an episode. Its session is never changed."""

    __slots__ = ("known", "over", "session", "turns")

    def __init__(self, session: Session, turns: int = 0, over: bool = False) -> None:
        self.session = session
        self.turns = turns
        self.over = over
        self.known: dict[str, Known] = {}
        """Action to its effect."""


class Known(NamedTuple):
    """The effect of an action."""

    fields: Mapping[str, Any]
    """Those of the result that differ from their defaults."""
    after: Point

    def result(self) -> StepResult:
        """A result that no other episode has, since its info may be changed."""
        return _new_result(self.fields)


class Beginning(NamedTuple):
    """The beginning of the episodes of a task."""

    point: Point
    offered: Toolset
    turns_allowed: int
    observation: Observation


class Histories:
    """The points that are known in one office."""

    def __init__(self) -> None:
        self._kept = 0
        self._beginnings = dict[object, Beginning]()

    def beginning(self, key: object) -> Beginning | None:
        """The beginning of episodes with this key, if it is known."""
        return self._beginnings.get(key)

    def begin(self, key: object, beginning: Beginning) -> None:
        """Note the beginning of episodes with this key."""
        self._make_room()
        self._beginnings[key] = beginning

    def add(self, before: Point, action: str, result: StepResult, after: Point) -> None:
        """Note the effect of an action, unless it is a long one."""
        if len(action) > LONGEST:
            return
        self._make_room()
        fields = {name: getattr(result, name) for name in result.model_fields_set if name != "info"}
        if result.info:
            fields["info"] = dict(result.info)
        before.known[action] = Known(fields, after)

    def clear(self) -> None:
        """Forget all points; episodes keep those that they are in."""
        self._kept = 0
        self._beginnings.clear()

    def _make_room(self) -> None:
        self._kept += 1
        if self._kept > MOST_KEPT:
            self.clear()
            self._kept = 1
