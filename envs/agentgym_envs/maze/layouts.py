"""Layouts of mazes: free cells and walls, shortest paths, and equality up to symmetry.

#######
#...#.#     cell (1, 1) is free: row 1, column 1
###.#.#     moving right increases the column, moving down the row
#.....#
#######
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

Cell = tuple[int, int]
"""Row and column."""

WALL: Final = "#"
FREE: Final = "."
MOVES: Final[Mapping[str, Cell]] = {
    "move right": (0, 1),
    "move left": (0, -1),
    "move up": (-1, 0),
    "move down": (1, 0),
}
"""Change of row and column by action, in the order in which walls are told."""


@dataclass(frozen=True)
class Layout:
    """Layout of a maze, with a wall all around."""

    rows: tuple[str, ...]

    def is_free(self, cell: Cell) -> bool:
        """True for a cell that is no wall."""
        return self.rows[cell[0]][cell[1]] == FREE

    @cached_property
    def free(self) -> tuple[Cell, ...]:
        """Free cells, row by row."""
        return tuple(
            (row, column)
            for row, line in enumerate(self.rows)
            for column, mark in enumerate(line)
            if mark == FREE
        )

    @cached_property
    def digest(self) -> str:
        """Hash that turned and mirrored layouts have in common."""
        turned, found = self.rows, list[str]()
        for _ in range(4):
            turned = tuple("".join(line) for line in zip(*turned[::-1], strict=True))
            found += ["\n".join(turned), "\n".join(line[::-1] for line in turned)]
        return sha256(min(found).encode()).hexdigest()

    def distances(self, goal: Cell) -> dict[Cell, int]:
        """Moves from each cell to the goal, for the cells from which it can be reached."""
        found, waiting = {goal: 0}, deque([goal])
        while waiting:
            cell = waiting.popleft()
            for step in MOVES.values():
                other = after(cell, step)
                if other not in found and self.is_free(other):
                    found[other] = found[cell] + 1
                    waiting.append(other)
        return found

    def path(self, start: Cell, goal: Cell) -> list[str]:
        """A shortest list of moves; of equal ones the first in the order of `MOVES`."""
        left, cell, moves = self.distances(goal), start, list[str]()
        while cell != goal:
            move = next(name for name, step in MOVES.items() if left.get(after(cell, step)) == left[cell] - 1)
            moves.append(move)
            cell = after(cell, MOVES[move])
        return moves


def after(cell: Cell, step: Cell) -> Cell:
    """The cell after a step."""
    return cell[0] + step[0], cell[1] + step[1]
