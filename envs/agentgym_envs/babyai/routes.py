"""Shortest routes within the agent's view, by one breadth-first search over cells and directions.

Cells are relative to the agent: steps forward and to its right.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentgym_envs.babyai.view import OBSTACLES, View

LEFT, RIGHT, FORWARD, PICKUP, DROP, TOGGLE = range(6)
"""Actions of minigrid."""
EXPANDED: Final = (FORWARD, LEFT, RIGHT)
"""Order in which a pose is expanded."""

Spot = tuple[int, int]
"""Steps forward of the agent, and steps to its right."""

_TURNED: Final[tuple[Spot, ...]] = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Step by relative direction: ahead, right, back, left."""
_BEHIND: Final = -1
"""Farthest row: AgentGym's area may have one behind the agent, and one column more to its right."""


class _Table:
    """Poses of a view of `size` rows and columns as numbers: four to a cell, clockwise."""

    def __init__(self, size: int) -> None:
        half = size // 2
        self.spots = [(row, side) for row in range(_BEHIND, size) for side in range(-half, half + 2)]
        self.cells = {spot: cell for cell, spot in enumerate(self.spots)}
        self.start = 4 * self.cells[0, 0]
        poses = range(4 * len(self.spots))
        self.ahead: list[Spot] = [
            (self.spots[pose // 4][0] + _TURNED[pose % 4][0], self.spots[pose // 4][1] + _TURNED[pose % 4][1])
            for pose in poses
        ]
        self.children: list[tuple[tuple[int, int], ...]] = [
            tuple((action, child) for action in EXPANDED if (child := self._after(pose, action)) is not None)
            for pose in poses
        ]

    def _after(self, pose: int, action: int) -> int | None:
        cell, turn = divmod(pose, 4)
        if action == FORWARD:
            ahead = self.cells.get(self.ahead[pose])
            return None if ahead is None else 4 * ahead + turn
        return 4 * cell + (turn + (1 if action == RIGHT else -1)) % 4


_TABLES: Final[dict[int, _Table]] = {}


@dataclass
class Routes:
    """Routes from the agent's pose to the poses in `area`, a view's cells without obstacles."""

    size: int
    area: Collection[Spot]

    def facing(self, spot: Spot) -> list[int] | None:
        """Actions that end in front of a cell and turned to it; None where no route leads there."""
        return self._to(self._reached[0].get(spot))

    def onto(self, spot: Spot) -> list[int] | None:
        """Actions that end on a cell; None where no route leads there."""
        return self._to(self._reached[1].get(spot))

    def _to(self, pose: int | None) -> list[int] | None:
        if pose is None:
            return None
        table, parents = self._table, self._reached[2]
        actions: list[int] = []
        while pose != table.start:
            pose, action = parents[pose]
            actions.append(action)
        return actions[::-1]

    @cached_property
    def _table(self) -> _Table:
        if self.size not in _TABLES:
            _TABLES[self.size] = _Table(self.size)
        return _TABLES[self.size]

    @cached_property
    def _reached(self) -> tuple[dict[Spot, int], dict[Spot, int], dict[int, tuple[int, int]]]:
        """First pose of the search in front of each cell, first pose on it, and parents of poses.

        AgentGym's search marks a pose when it takes it from its queue, so that a pose may be queued more than
        once, and its last parent holds. Layer by layer that is: poses are taken in the order of their first
        entries, and the parent is the one whose own last entry is latest. No pose of a layer leads to another
        of it, since each action changes the sum of row, column and direction by one.
        """
        table = self._table
        is_free = [spot in self.area for spot in table.spots]
        facing: dict[Spot, int] = {}
        onto: dict[Spot, int] = {}
        parents: dict[int, tuple[int, int]] = {table.start: (table.start, FORWARD)}
        first: Sequence[int] = [table.start]
        last: Sequence[int] = first
        while first:
            for pose in first:
                facing.setdefault(table.ahead[pose], pose)
                onto.setdefault(table.spots[pose // 4], pose)
            entered = _entered(table, last, parents, is_free)
            reached = (child for pose in first for _, child in table.children[pose])
            first = list(dict.fromkeys(child for child in reached if child in entered))
            last = list(entered)
            parents |= entered
        return facing, onto, parents


def _entered(
    table: _Table, layer: Sequence[int], parents: Mapping[int, object], is_free: Sequence[bool]
) -> dict[int, tuple[int, int]]:
    """Parent and action of each pose of the next layer, in the order of the last entries."""
    entered: dict[int, tuple[int, int]] = {}
    for pose in layer:
        for action, child in table.children[pose]:
            if child not in parents and is_free[child // 4]:
                entered.pop(child, None)
                entered[child] = (pose, action)
    return entered


def routes(view: View, *, wide: bool) -> Routes:
    """Routes within a view; `wide` as `area` has it."""
    blocked = {thing.spot for thing in view.things if thing.kind in OBSTACLES}
    return Routes(view.size, area(view, wide=wide) - blocked)


def area(view: View, *, wide: bool) -> set[Spot]:
    """Cells of a view. `wide`: also AgentGym's further ones, which it takes to be free.

    It reads one column too many where columns, and one row too many where rows fall from the view's far left
    corner to its near right one: to the east and south a row behind the agent, to the south and west a column
    to its right.
    """
    half = view.size // 2
    first = -1 if wide and view.pose.direction in (0, 1) else 0
    last = half + 1 if wide and view.pose.direction in (1, 2) else half
    return {(row, side) for row in range(first, view.size) for side in range(-half, last + 1)}
