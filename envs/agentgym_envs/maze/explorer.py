"""A player that sees its position, the goal's, and the walls beside it, and remembers where it was."""

from random import Random

from agentgym_envs.maze.layouts import MOVES, Cell, Layout, after

BACK = {"move right": "move left", "move left": "move right", "move up": "move down", "move down": "move up"}


def explored(layout: Layout, start: Cell, goal: Cell, draw: Random, care: float, most: int) -> list[str]:
    """Moves of a depth-first search that prefers free cells near the goal, `most` of them at most; each is a
    random one with probability 1 - `care`.
    """
    cell, seen, trail, moves = start, {start}, list[str](), list[str]()
    while len(moves) < most and (cell != goal or not moves):
        move = draw.choice(list(MOVES))
        if draw.random() < care:
            move = _next(layout, cell, goal, seen) or (BACK[trail[-1]] if trail else move)
        moves.append(move)
        ahead = after(cell, MOVES[move])
        if not layout.is_free(ahead):
            continue
        if trail and move == BACK[trail[-1]]:
            trail.pop()
        else:
            trail.append(move)
        cell = ahead
        seen.add(cell)
    return moves


def _next(layout: Layout, cell: Cell, goal: Cell, seen: set[Cell]) -> str | None:
    """The move to an unseen free cell, nearest to the goal by rows and columns; None without one."""
    found = {name: after(cell, step) for name, step in MOVES.items()}
    fresh = [
        (_apart(one, goal), name) for name, one in found.items() if layout.is_free(one) and one not in seen
    ]
    return min(fresh)[1] if fresh else None


def _apart(cell: Cell, goal: Cell) -> int:
    return abs(cell[0] - goal[0]) + abs(cell[1] - goal[1])
