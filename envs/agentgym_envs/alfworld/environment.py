"""ALFWorld as an `Environment`: generated tasks of three levels, and the official ones once imported.

> world = ALFWorld()
> task = world.tasks("test", "small")[0]
> world.reset(task, seed=0).text
'-= Welcome to TextWorld, ALFRED! =-\\n\\nYou are in the middle of a room. ...\\n\\nYour task is to: ...'
> world.step("go to desk 1").observation.text
'You arrive at desk 1. On the desk 1, you see a mug 1.'

The reward is 1 at the first command after which the goal holds, and that ends the episode.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Annotated, get_args

from pydantic import Field

from agentgym_envs.alfworld import expert, generator
from agentgym_envs.alfworld.dialects import Dialect, translate, translate_loosely
from agentgym_envs.alfworld.game import Game
from agentgym_envs.alfworld.goals import parse_goal
from agentgym_envs.alfworld.library import Catalogue, Row, digest_of
from agentgym_envs.alfworld.scene import Scene, parse
from agentgym_envs.alfworld.search import play
from agentgym_envs.alfworld.world import NOTHING_HAPPENS, World
from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.lazy_sequence import LazySequence

OFFICIAL = "official"
"""Difficulty of imported tasks."""

_GENERATED_ID = re.compile(r"([a-z_]{1,40})/([a-z]{1,40})/(0|[1-9][0-9]{0,8})")
_ARRIVAL = "You arrive at "

STRIP_ARRIVAL = "Cut `You arrive at ... .` from observations; by default in the dialect `put` only."
LENIENT = (
    "Understand the other dialect's wording too. Results are not comparable then; a step's info says so as"
    " `read_as`."
)
SHUFFLE_NAMES = "Deal the numbers of all names anew in each episode, by its seed."


class ALFWorldTask(Task):
    """ALFWorld task. `digest` stays on the server: it distinguishes games of equal instructions."""

    digest: str
    """16 hexadecimal digits over facts and goal."""


@dataclass(frozen=True)
class _Snapshot:
    task_id: str
    world: World
    is_over: bool


class ALFWorld(Environment[ALFWorldTask]):
    """Household tasks in text: find, clean, heat, cool, light up and place things.

    `home` is where imported games are looked for (None: `agentgym_envs.home.data_home`).
    """

    name = "alfworld"
    max_turns = 30
    blocking = False
    forkable = True
    difficulties = ("small", "medium", "large")
    # Spray wins where an object lies at hand beside its target: 3 of 900 generated tasks.
    baselines = {"idle": (0.0, 0.0), "spray": (0.0, 0.02)}  # noqa: RUF012 - a class fact, never changed

    def __init__(
        self,
        dialect: Annotated[Dialect, Field(description="Wording of placing things.")] = "move",
        *,
        strip_arrival: Annotated[bool | None, Field(description=STRIP_ARRIVAL)] = None,
        lenient: Annotated[bool, Field(description=LENIENT)] = False,
        shuffle_names: Annotated[bool, Field(description=SHUFFLE_NAMES)] = False,
        home: Path | None = None,
    ) -> None:
        if dialect not in get_args(Dialect):
            raise ValueError(f"no dialect {dialect!r}; there are: {', '.join(get_args(Dialect))}")
        self.dialect: Dialect = dialect
        self.strip_arrival = dialect == "put" if strip_arrival is None else strip_arrival
        self.lenient = lenient
        self.shuffle_names = shuffle_names
        self._catalogue = Catalogue.open(home or data_home())
        self._episode: _Snapshot | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        return (*generator.COUNTS, *self._official_splits())

    @property
    def data_version(self) -> str:
        generated = f"generated:{generator.VERSION}"
        return f"{generated}+imported:{self._catalogue.digest}" if self._catalogue else generated

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[ALFWorldTask]:
        """As in `Environment`; without a difficulty, levels take turns. Imported tasks are all `official`."""
        levels = (*self.difficulties, OFFICIAL)
        if split not in self.splits:
            raise TaskNotFound(f"alfworld has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in levels:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(levels)}")
        if split in generator.COUNTS:
            return _generated_tasks(split, self.difficulties, difficulty)
        rows = self._catalogue.rows(split) if self._catalogue and difficulty in {None, OFFICIAL} else ()
        return LazySequence(len(rows), lambda number: _official_task(split, rows[number]))

    def task(self, task_id: str) -> ALFWorldTask:
        if _GENERATED_ID.fullmatch(task_id):
            return _generated_task(task_id)
        place = self._catalogue.find(task_id) if self._catalogue else None
        if place is None or self._catalogue is None:
            raise TaskNotFound(f"alfworld has no task {task_id[:80]!r}")
        split, number = place
        return _official_task(split, self._catalogue.rows(split)[number])

    def reset(self, task: ALFWorldTask, seed: int) -> Observation:
        world = World(self._scene(task.id, seed if self.shuffle_names else None))
        self._episode = _Snapshot(task.id, world, is_over=False)
        return Observation(text=world.initial_observation(), actions=tuple(world.admissible()))

    def step(self, action: str) -> StepResult:
        if self._episode is None:
            raise RuntimeError("step before reset")
        world = self._episode.world
        if self._episode.is_over:  # a further command would change the state that was rewarded
            return StepResult(observation=self._observe(world, NOTHING_HAPPENS), terminated=True)
        command = translate_loosely(action, self.dialect) if self.lenient else action
        text = world.step(command)
        won = world.won
        self._episode = _Snapshot(self._episode.task_id, world, is_over=won)
        info = {"invalid_action": True} if text == NOTHING_HAPPENS else {}
        read_as = {} if command == action else {"read_as": command}
        return StepResult(
            observation=self._observe(world, text),
            reward=1.0 if won else 0.0,
            terminated=won,
            info={**info, **read_as},
        )

    def expert(self, task: ALFWorldTask) -> list[str] | None:
        """Winning commands; with `shuffle_names` only for the task of the current episode."""
        if self.shuffle_names:
            episode = self._episode
            if episode is None or episode.task_id != task.id:
                return None
            return expert.plan(World(episode.world.scene))
        try:
            return expert.plan(World(self._scene(task.id, None)))
        except expert.DeadEnd:
            return [
                translate(command, self.dialect) for command in _game(self._catalogue, task.id).walkthrough
            ]

    def demonstrate(self, task: ALFWorldTask, seed: int, care: float = 1.0) -> list[str]:
        """Commands of the scripted searcher of `agentgym_envs.alfworld.search`."""
        commands = play(World(self._scene_in("move", task.id)), Random(seed), self.max_turns, care)
        return [translate(command, self.dialect) for command in commands]

    def snapshot(self) -> object:
        if self._episode is None:
            raise RuntimeError("snapshot before reset")
        return _Snapshot(self._episode.task_id, self._episode.world.copy(), self._episode.is_over)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of alfworld: {type(snapshot).__name__}")
        self._episode = _Snapshot(snapshot.task_id, snapshot.world.copy(), snapshot.is_over)

    def close(self) -> None:
        self._episode = None

    def _observe(self, world: World, text: str) -> Observation:
        if self.strip_arrival and text.startswith(_ARRIVAL):
            text = text.partition(". ")[2]  # a name has no full stop
        return Observation(text=text, actions=tuple(world.admissible()))

    def _official_splits(self) -> tuple[str, ...]:
        return self._catalogue.splits if self._catalogue else ()

    def _scene(self, task_id: str, shuffle_seed: int | None) -> Scene:
        return _scene(self._catalogue, task_id, self.dialect, shuffle_seed)

    def _scene_in(self, dialect: Dialect, task_id: str) -> Scene:
        return _scene(self._catalogue, task_id, dialect, None)


@lru_cache(maxsize=512)
def _scene(catalogue: Catalogue | None, task_id: str, dialect: Dialect, shuffle_seed: int | None) -> Scene:
    """The scene of a task, shared by all instances, since it is immutable."""
    return parse(_game(catalogue, task_id), dialect, shuffle_seed)


@lru_cache(maxsize=64)
def _game(catalogue: Catalogue | None, task_id: str) -> Game:
    """The game of a task; raises `TaskNotFound`."""
    found = _GENERATED_ID.fullmatch(task_id)
    if found:
        try:
            return generator.game(found[1], found[2], int(found[3]))
        except LookupError as error:
            raise TaskNotFound(f"alfworld has {error}") from None
    place = catalogue.find(task_id) if catalogue else None
    if place is None or catalogue is None:
        raise TaskNotFound(f"alfworld has no task {task_id[:80]!r}")
    return catalogue.game(*place)


def _generated_tasks(
    split: str, levels: tuple[str, ...], difficulty: str | None
) -> LazySequence[ALFWorldTask]:
    """The tasks of a level, or of all levels in turn."""
    count = generator.COUNTS[split]
    if difficulty is None:
        turns = len(levels)
        return LazySequence(
            turns * count, lambda index: _generated_task(f"{split}/{levels[index % turns]}/{index // turns}")
        )
    present = count if difficulty in levels else 0
    return LazySequence(present, lambda index: _generated_task(f"{split}/{difficulty}/{index}"))


@lru_cache(maxsize=4096)
def _generated_task(task_id: str) -> ALFWorldTask:
    """A task of a generated game; cached, since its instruction requires making the whole game."""
    game = _game(None, task_id)
    split, difficulty, _ = task_id.split("/")
    return ALFWorldTask(
        env=ALFWorld.name,
        id=task_id,
        split=split,
        instruction=game.sentence,
        kind=parse_goal(game.goal).kind,
        difficulty=difficulty,
        digest=digest_of(game),
    )


def _official_task(split: str, row: Row) -> ALFWorldTask:
    return ALFWorldTask(
        env=ALFWorld.name,
        id=row.id,
        split=split,
        instruction=row.sentence,
        kind=row.kind,
        difficulty=OFFICIAL,
        digest=row.digest,
    )
