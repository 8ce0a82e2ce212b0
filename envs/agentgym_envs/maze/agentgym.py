"""AgentGym's maze (LMRL-Gym, arXiv:2311.18232): one layout, one goal, 26 starts.

Training and test games of AgentGym are numbers of the same 26 starts. The last one starts at the goal.
"""

from typing import Final

from agentgym_envs.maze.generator import Problem
from agentgym_envs.maze.layouts import FREE, WALL, Cell, Layout

SPLIT: Final = "agentgym"
GOAL: Final = (8, 6)
ROWS, COLUMNS = 10, 13
CORRIDORS: Final = (
    *((1, column) for column in (*range(1, 6), *range(7, 12))),
    *((row, column) for row in range(1, 6) for column in (3, 9)),
    *((5, column) for column in range(3, 10)),
    *((row, 6) for row in range(5, 9)),
)
STARTS: Final[tuple[Cell, ...]] = (
    *((1, column) for column in (*range(1, 6), *range(7, 12))),
    *((row, 3) for row in range(2, 6)),
    *((5, 4), (5, 5), (5, 6), (6, 6), (7, 6), (5, 7), (5, 8), (5, 9)),
    *((row, 9) for row in range(4, 1, -1)),
    GOAL,
)
LAYOUT: Final = Layout(
    tuple(
        "".join(FREE if (row, column) in CORRIDORS else WALL for column in range(COLUMNS))
        for row in range(ROWS)
    )
)
MOST_MOVES: Final = 50
"""Moves after which the next one fails."""


def problem(game: int) -> Problem:
    """Start and goal of a game."""
    return Problem(LAYOUT, STARTS[game], GOAL)
