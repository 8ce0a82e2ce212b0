"""TextCraft as an `Environment`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound
from agentgym_envs.home import data_home
from agentgym_envs.textcraft.book import VERSION, OwnBook, invented, village
from agentgym_envs.textcraft.crafting import Crafter
from agentgym_envs.textcraft.library import imported
from agentgym_envs.textcraft.planner import Planner
from agentgym_envs.textcraft.player import played
from agentgym_envs.textcraft.recipes import RecipeBook, text_of
from agentgym_envs.textcraft.splits import goals_by_split

Book = Literal["village", "invented", "imported"]
Variant = Literal["default", "agentgym"]

AGENTGYM = "agentgym"
DISTRACTORS = 10
"""Most recipes that the goal does not need, and of these for one of its ingredients."""
BOOK = "Recipes: `village`; `invented`, the same ones with names that no one has read before; or `imported`."
VARIANT = (
    "`agentgym`: all goals in one split, and an input that is named twice is checked twice, as in its server."
)
COMMANDS = (
    "Commands: get NUMBER ITEM, craft NUMBER ITEM using NUMBER ITEM, NUMBER ITEM, and inventory. Where a"
    " recipe names a class, such as planks, take one kind of it."
)


class TextCraftTask(Task):
    """TextCraft task. `goal` is the item's id."""

    goal: str


@dataclass(frozen=True)
class _Snapshot:
    """State of an episode."""

    task: TextCraftTask
    held: dict[str, int]
    is_over: bool


class TextCraft(Environment[TextCraftTask]):
    """Reward 1 when the goal is crafted. Base items can be got in any number."""

    name = "textcraft"
    max_turns = 30
    blocking = False
    forkable = True

    def __init__(
        self,
        book: Annotated[Book, Field(description=BOOK)] = "village",
        variant: Annotated[Variant, Field(description=VARIANT)] = "default",
    ) -> None:
        if book not in get_args(Book):
            raise ValueError(f"no book {book!r}; there are: {', '.join(get_args(Book))}")
        if variant not in get_args(Variant):
            raise ValueError(f"no variant {variant!r}; there are: {', '.join(get_args(Variant))}")
        self._own, self._version = _opened(book)
        self._book, self.variant = self._own.recipes, variant
        self.difficulties = tuple(sorted({str(self._book.depths[goal]) for goal in self._book.goals}))
        self._task: TextCraftTask | None = None
        self._crafter = Crafter(self._book)
        self._is_over = False

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits with a goal: an imported book has no unseen classes, and a small one not all others."""
        return tuple(split for split, tasks in _tasks(self._own, self.variant).items() if tasks)

    @property
    def data_version(self) -> str:
        return self._version

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[TextCraftTask]:
        if split not in self.splits:
            raise TaskNotFound(f"textcraft has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in self.difficulties:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(self.difficulties)}")
        found = _tasks(self._own, self.variant)[split]
        return [task for task in found if difficulty in (None, task.difficulty)]

    def task(self, task_id: str) -> TextCraftTask:
        for tasks in _tasks(self._own, self.variant).values():
            for task in tasks:
                if task.id == task_id:
                    return task
        raise TaskNotFound(f"textcraft has no task {task_id[:80]!r}")

    def reset(self, task: TextCraftTask, seed: int) -> Observation:
        self._begin(task, {}, is_over=False)
        lines = "\n".join(_shown(self._book, task.goal, Random(f"{task.id}/{seed}")))
        return Observation(text=f"Crafting commands:\n{lines}\n\nGoal: craft {text_of(task.goal)}.")

    def step(self, action: str) -> StepResult:
        if self._task is None:
            raise RuntimeError("step before reset")
        if self._is_over:
            return StepResult(observation=Observation(text="It is over."), terminated=True)
        told = self._crafter.do(action.strip())
        self._is_over = self._crafter.made == self._task.goal
        info: dict[str, Any] = {"variant": self.variant}
        if self._crafter.failed:
            info["invalid_action"] = True
        return StepResult(
            observation=Observation(text=told),
            reward=float(self._is_over),
            terminated=self._is_over,
            info=info,
        )

    def expert(self, task: TextCraftTask) -> list[str]:
        """The shortest plan that was found."""
        return list(_planner(self._book).plan(task.goal))

    def demonstrate(self, task: TextCraftTask, seed: int, care: float = 1.0) -> list[str]:
        """Commands of a player that plans from its inventory."""
        draw = Random(f"{task.id}/{seed}")
        return played(self._book, _planner(self._book), task.goal, draw, care, self.max_turns)

    def snapshot(self) -> object:
        if self._task is None:
            raise RuntimeError("snapshot before reset")
        return _Snapshot(self._task, dict(self._crafter.held), self._is_over)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, _Snapshot):
            raise TypeError(f"not a snapshot of textcraft: {type(snapshot).__name__}")
        self._begin(snapshot.task, snapshot.held, is_over=snapshot.is_over)

    def _begin(self, task: TextCraftTask, held: dict[str, int], *, is_over: bool) -> None:
        self._task, self._is_over = task, is_over
        self._crafter = Crafter(self._book, held, strict=self.variant == "default")


def _opened(book: Book) -> tuple[OwnBook, str]:
    """A book and its version. Raises `RecipeError` where no recipes were imported."""
    if book == "imported":
        recipes, digest = imported(data_home())
        return _without_unseen(recipes), f"imported:{digest[:12]}"
    return (village() if book == "village" else invented()), f"generated:{book}-{VERSION}"


@cache
def _without_unseen(recipes: RecipeBook) -> OwnBook:
    return OwnBook(recipes, frozenset[str]())


@cache
def _planner(book: RecipeBook) -> Planner:
    return Planner(book)


@cache
def _tasks(own: OwnBook, variant: Variant) -> dict[str, tuple[TextCraftTask, ...]]:
    """Tasks by split; AgentGym's order is that of depths and names."""
    book = own.recipes
    goals = goals_by_split(book, own.unseen) if variant == "default" else {AGENTGYM: book.goals}
    return {split: tuple(_task(book, split, goal) for goal in ones) for split, ones in goals.items()}


def _task(book: RecipeBook, split: str, goal: str) -> TextCraftTask:
    depth = book.depths[goal]
    return TextCraftTask(
        env=TextCraft.name,
        id=goal.partition(":")[2] if book.named.get(text_of(goal)) == goal else goal,
        split=split,
        instruction=f"Craft {text_of(goal)}. {COMMANDS}",
        kind=f"depth {depth}",
        difficulty=str(depth),
        goal=goal,
    )


def _shown(book: RecipeBook, goal: str, draw: Random) -> list[str]:
    """Lines of the recipes that the goal may need and of some others, in random order."""
    needed = {recipe.line: recipe for recipe in book.reachable(goal)}
    taken = sorted({one.name for recipe in needed.values() for one in recipe.inputs})
    others = list[str]()
    for name in taken:
        own = sorted({one.line for one in _taking(book).get(name, ())} - needed.keys())
        others += draw.sample(own, min(DISTRACTORS, len(own)))
    unique = sorted(set(others))
    lines = [*sorted(needed), *draw.sample(unique, min(DISTRACTORS, len(unique)))]
    draw.shuffle(lines)
    return lines


@cache
def _taking(book: RecipeBook) -> dict[str, list[Any]]:
    """Recipes by what they take."""
    found: dict[str, list[Any]] = {}
    for recipe in book.recipes:
        for one in recipe.inputs:
            found.setdefault(one.name, []).append(recipe)
    return found
