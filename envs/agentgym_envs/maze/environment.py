"""The maze as an `Environment`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.maze import agentgym, generator
from agentgym_envs.maze.explorer import explored
from agentgym_envs.maze.generator import COUNTS, PROBLEMS, SIZES, UNSEEN, Problem
from agentgym_envs.maze.layouts import MOVES, Cell, Layout, after

Variant = Literal["default", "agentgym"]
View = Literal["full", "walls"]

INSTRUCTION = (
    "Walk to the goal of a maze. Positions are row, column: moving right increases the column, moving down"
    f" the row. Actions: {', '.join(MOVES)}."
)
SIDES = tuple(zip(MOVES.values(), ("to your right", "to your left", "above you", "below you"), strict=True))
ACTIONS = tuple(sorted(MOVES))
FEWEST_MOVES = 15
"""Least limit of moves; otherwise it is twice the shortest path."""
VARIANT = "`agentgym` has the one layout and the 26 starts of AgentGym's maze, and its limit of 50 moves."
VIEW = "Observations: `full` has positions and walls, `walls` only the walls beside the agent."

_ID = re.compile(r"([a-z_]{1,12})/([0-9]{1,2})/(0|[1-9][0-9]{0,3})/([0-9])")


class MazeTask(Task):
    """Maze task. The layout stays on the server."""

    rows: tuple[str, ...]
    start: Cell
    goal: Cell
    most_moves: int


@dataclass(frozen=True)
class _Snapshot:
    """State of an episode."""

    task: MazeTask | None
    position: Cell
    moves: int
    is_over: bool


class Maze(Environment[MazeTask]):
    """Reward 1 at the goal. A move into a wall changes nothing, and counts."""

    name = "maze"
    max_turns = 400
    blocking = False
    forkable = True
    # Spray walks in a small circle; where the goal is on it, it arrives.
    baselines = {"idle": (0.0, 0.0), "spray": (0.0, 0.02)}  # noqa: RUF012 - a class fact, never changed

    def __init__(
        self,
        variant: Annotated[Variant, Field(description=VARIANT)] = "default",
        view: Annotated[View, Field(description=VIEW)] = "full",
    ) -> None:
        if variant not in get_args(Variant):
            raise ValueError(f"no variant {variant!r}; there are: {', '.join(get_args(Variant))}")
        if view not in get_args(View):
            raise ValueError(f"no view {view!r}; there are: {', '.join(get_args(View))}")
        self.variant: Variant = variant
        self.view: View = view
        self.difficulties = () if variant == "agentgym" else tuple(SIZES)
        self._task: MazeTask | None = None
        self._layout = Layout(())
        self._position: Cell = (0, 0)
        self._moves, self._is_over = 0, False

    @property
    def splits(self) -> tuple[str, ...]:
        return (agentgym.SPLIT,) if self.variant == "agentgym" else (*COUNTS, UNSEEN)

    @property
    def data_version(self) -> str:
        return f"{'builtin' if self.variant == 'agentgym' else 'generated'}:{generator.VERSION}"

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[MazeTask]:
        if split not in self.splits:
            raise TaskNotFound(f"maze has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in self.difficulties:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(self.difficulties)}")
        if self.variant == "agentgym":
            return [self._agentgym(game) for game in range(len(agentgym.STARTS))]
        sizes = SIZES[difficulty] if difficulty else tuple(chain.from_iterable(SIZES.values()))
        places = [
            (size, number, place)
            for size in sizes
            for number in generator.numbers(size).get(split, ())
            for place in range(PROBLEMS)
        ]
        return LazySequence(len(places), lambda index: self._generated(split, *places[index]))

    def task(self, task_id: str) -> MazeTask:
        found = _ID.fullmatch(task_id)
        if self.variant == "agentgym":
            games = {f"{agentgym.SPLIT}/{game}": game for game in range(len(agentgym.STARTS))}
            if task_id in games:
                return self._agentgym(games[task_id])
        elif found and found[1] in self.splits:
            size, number, place = (int(text) for text in found.groups()[1:])
            known = any(size in sizes for sizes in SIZES.values()) and place < PROBLEMS
            if known and number in generator.numbers(size).get(found[1], ()):
                return self._generated(found[1], size, number, place)
        raise TaskNotFound(f"maze has no task {task_id[:80]!r}")

    def reset(self, task: MazeTask, seed: int) -> Observation:
        self._begin(task, task.start, 0, is_over=False)
        return self._observed()

    def step(self, action: str) -> StepResult:
        task = self._task
        if task is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        self._moves += 1
        if self.variant == "agentgym" and self._moves > task.most_moves:
            return self._ended("Failure", info={"variant": self.variant})
        step = MOVES.get(action.strip())
        ahead = after(self._position, step) if step else self._position
        if self._layout.is_free(ahead):
            self._position = ahead
        info: dict[str, Any] = {"variant": self.variant, **({} if step else {"invalid_action": True})}
        if self._position == task.goal:
            return self._ended("Success", reward=1.0, info=info)
        is_last = self.variant == "default" and self._moves >= task.most_moves
        self._is_over = is_last
        return StepResult(observation=self._observed(), truncated=is_last, info=info)

    def expert(self, task: MazeTask) -> list[str]:
        """A shortest path; from the goal itself the first move onto it."""
        found = Layout(task.rows).path(task.start, task.goal)
        return found or ["move down"]

    def demonstrate(self, task: MazeTask, seed: int, care: float = 1.0) -> list[str]:
        return explored(Layout(task.rows), task.start, task.goal, Random(seed), care, task.most_moves)

    def snapshot(self) -> object:
        return _Snapshot(self._task, self._position, self._moves, self._is_over)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of maze: {type(snapshot).__name__}")
        self._begin(snapshot.task, snapshot.position, snapshot.moves, is_over=snapshot.is_over)

    def _begin(self, task: MazeTask | None, position: Cell, moves: int, *, is_over: bool) -> None:
        if self._task is not task:
            self._task, self._layout = task, Layout(task.rows if task else ())
        self._position, self._moves, self._is_over = position, moves, is_over

    def _ended(self, text: str, *, reward: float = 0.0, info: dict[str, Any]) -> StepResult:
        self._is_over = True
        return StepResult(observation=Observation(text=text), reward=reward, terminated=True, info=info)

    def _observed(self) -> Observation:
        if self._task is None:
            raise RuntimeError("observation before reset")
        here, goal = self._position, self._task.goal
        walls = [side for step, side in SIDES if not self._layout.is_free(after(here, step))]
        text = _walls(walls)
        if self.view == "full":
            where = f"Your current position is at position {here[0]}, {here[1]}."
            text = f"The goal is at position {goal[0]}, {goal[1]}. {where} {text}"
        return Observation(text=text, actions=ACTIONS)

    def _generated(self, split: str, size: int, number: int, place: int) -> MazeTask:
        difficulty = next(name for name, sizes in SIZES.items() if size in sizes)
        found = generator.problem(size, number, place)
        most = max(FEWEST_MOVES, 2 * found.layout.distances(found.goal)[found.start])
        return self._made(f"{split}/{size}/{number}/{place}", split, difficulty, found, most)

    def _agentgym(self, game: int) -> MazeTask:
        name = f"{agentgym.SPLIT}/{game}"
        return self._made(name, agentgym.SPLIT, "", agentgym.problem(game), agentgym.MOST_MOVES)

    def _made(self, name: str, split: str, difficulty: str, found: Problem, most: int) -> MazeTask:
        return MazeTask(
            env=self.name,
            id=name,
            split=split,
            instruction=INSTRUCTION,
            kind=f"{len(found.layout.rows)} rows",
            difficulty=difficulty,
            rows=found.layout.rows,
            start=found.start,
            goal=found.goal,
            most_moves=most,
        )


def _walls(sides: Sequence[str]) -> str:
    if not sides:
        return "There are no walls near you."
    return f"There {'is a wall' if len(sides) == 1 else 'are walls'} {', '.join(sides)}."
