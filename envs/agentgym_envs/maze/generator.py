"""Generated mazes: spanning trees of a grid by depth-first search, with a few further openings.

    number 0, 1, 2, ... of a size -> layout -> split by its digest

Layouts that are equal up to symmetry count once, and are in one split: no maze of another split is one of
them, turned or mirrored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from agentgym_envs.maze.layouts import FREE, WALL, Cell, Layout

VERSION: Final = "1"
"""Part of `data_version`: another generator makes other tasks."""

SIZES: Final = {"small": (7, 9), "medium": (11, 13), "large": (15, 17), "huge": (19, 21)}
"""Rows and columns of the mazes of a difficulty."""
UNSEEN: Final = "unseen_sizes"
"""Split of the sizes of `huge`, which no other split has."""
COUNTS: Final = {"train": 200, "valid": 25, "test": 25}
"""Layouts of each size at most; small sizes have fewer."""
NUMBERS: Final = 400
"""Numbers that are drawn for a size."""
PROBLEMS: Final = 4
"""Pairs of a start and a goal in each layout."""


@dataclass(frozen=True)
class Problem:
    """Start and goal in a layout."""

    layout: Layout
    start: Cell
    goal: Cell


@cache
def numbers(size: int) -> dict[str, tuple[int, ...]]:
    """Numbers of the distinct layouts of a size, by split."""
    found: dict[str, list[int]] = {}
    seen = set[str]()
    for number in range(NUMBERS):
        made = layout(size, number)
        if made.digest in seen:
            continue
        seen.add(made.digest)
        split = _split(size, made)
        if len(found.setdefault(split, [])) < COUNTS.get(split, COUNTS["test"]):
            found[split].append(number)
    return {split: tuple(ones) for split, ones in found.items()}


@cache
def layout(size: int, number: int) -> Layout:
    """A layout of `size` rows and columns, which are odd."""
    draw = Random(f"agentevol.maze.{VERSION}.{size}.{number}")
    walls = [[WALL] * size for _ in range(size)]
    rooms = [(row, column) for row in range(1, size, 2) for column in range(1, size, 2)]
    stack = [draw.choice(rooms)]
    walls[stack[0][0]][stack[0][1]] = FREE
    while stack:
        ahead = [room for room in _beside(stack[-1], size) if walls[room[0]][room[1]] == WALL]
        if not ahead:
            stack.pop()
            continue
        room = draw.choice(ahead)
        for row, column in (room, _between(stack[-1], room)):
            walls[row][column] = FREE
        stack.append(room)
    closed = [
        _between(room, other)
        for room in rooms
        for other in _beside(room, size)
        if room < other and walls[(room[0] + other[0]) // 2][(room[1] + other[1]) // 2] == WALL
    ]
    for row, column in draw.sample(closed, draw.randint(0, len(rooms) // 8)):
        walls[row][column] = FREE
    return Layout(tuple("".join(line) for line in walls))


def problem(size: int, number: int, place: int) -> Problem:
    """Start and goal number `place` in a layout, at least `size` - 2 moves apart if any two cells are."""
    made = layout(size, number)
    draw = Random(f"agentevol.maze.{VERSION}.{size}.{number}.{place}")
    for goal in draw.sample(made.free, len(made.free)):
        far = [cell for cell, moves in made.distances(goal).items() if moves >= size - 2]
        if far:
            return Problem(made, draw.choice(sorted(far)), goal)
    raise RuntimeError(f"maze {size}/{number} has no two cells {size - 2} moves apart")


def _split(size: int, made: Layout) -> str:
    if size in SIZES["huge"]:
        return UNSEEN
    return {0: "valid", 1: "test"}.get(int(made.digest[:8], 16) % 8, "train")


def _beside(room: Cell, size: int) -> Sequence[Cell]:
    row, column = room
    around = ((row, column + 2), (row, column - 2), (row - 2, column), (row + 2, column))
    return [one for one in around if 0 < one[0] < size and 0 < one[1] < size]


def _between(room: Cell, other: Cell) -> Cell:
    return (room[0] + other[0]) // 2, (room[1] + other[1]) // 2
