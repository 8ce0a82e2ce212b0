"""Tasks of the environment `sotopia`: `SotopiaTask`, generated ones, and published ones once imported.

train/price/2/17    generated: a task of the social worlds
sotopia/290         published: the position in the list of combinations

Splits have no task in common: `verifiable` and `judged` are all published tasks. `all`, `hard` and the
sources of scenarios name parts of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentgym_envs.core import Task, TaskNotFound, TaskUnplayable
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.social import tasks as social
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.family import LEVELS
from agentgym_envs.social.tasks import SocialTask
from agentgym_envs.sotopia.data.library import Catalogue
from agentgym_envs.sotopia.data.profile_set import HARD, JUDGED, PREFIX, VERIFIABLE
from agentgym_envs.sotopia.protocol.markup import shown_to
from agentgym_envs.sotopia.protocol.profiles import Scene

NAME: Final = "sotopia"
STANDARD: Final = "standard"
"""Difficulty of published tasks that are not `hard`."""
IMPORT: Final = "the published ones come by: agentevol data import sotopia DIR"


class SotopiaTask(Task):
    """A generated or a published task. `content` stays on the server."""

    content: SocialTask | Scene

    @property
    def generated(self) -> SocialTask | None:
        """The task of the social worlds; None for a published one."""
        return self.content if isinstance(self.content, SocialTask) else None


@dataclass(frozen=True)
class Published:
    """Published tasks. With `only_verifiable` a program scores, so that only a part can be played."""

    catalogue: Catalogue
    seat: int
    """Seat of the agent."""
    only_verifiable: bool

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that can be played and have no task in common."""
        both = (VERIFIABLE,) if self.only_verifiable else (VERIFIABLE, JUDGED)
        return tuple(split for split in both if self._positions(split))

    @property
    def names(self) -> tuple[str, ...]:
        """All names of splits."""
        return (*self.catalogue.splits, VERIFIABLE, JUDGED)

    def tasks(self, split: str, difficulty: str | None) -> Sequence[SotopiaTask]:
        """Tasks of a split that is one of the `names`. Raises `TaskUnplayable`."""
        positions = self._positions(split)
        missing = sum(one not in self.catalogue.verifiable for one in positions)
        if missing and self.only_verifiable:
            raise TaskUnplayable(
                f"{NAME} cannot play the split {split!r}: no program can check the goals of {missing} of its"
                f" {len(positions)} tasks; give judge_model=NAME and judge_url=URL, or take the split"
                f" {VERIFIABLE!r}"
            )
        chosen = [one for one in positions if difficulty in (None, self._difficulty(one))]
        return LazySequence(len(chosen), lambda number: self._task(chosen[number]))

    def task(self, task_id: str) -> SotopiaTask:
        """The task with this id, or of the combination with this key; raises `TaskNotFound`."""
        return self._task(self.catalogue.find(task_id))

    def _positions(self, split: str) -> Sequence[int]:
        if split not in (VERIFIABLE, JUDGED):
            return self.catalogue.positions(split)
        checked, count = self.catalogue.verifiable, len(self.catalogue.profiles.combos)
        return [one for one in range(count) if (one in checked) == (split == VERIFIABLE)]

    def _difficulty(self, position: int) -> str:
        return HARD if position in self.catalogue.profiles.hard else STANDARD

    def _task(self, position: int) -> SotopiaTask:
        scene = self.catalogue.scene(position)
        return SotopiaTask(
            env=NAME,
            id=f"{PREFIX}{position}",
            split=VERIFIABLE if position in self.catalogue.verifiable else JUDGED,
            instruction=shown_to(f"agent_{self.seat}", scene.environment.agent_goals[self.seat]),
            kind=scene.environment.source,
            difficulty=self._difficulty(position),
            content=scene,
        )


@dataclass(frozen=True)
class Tasks:
    """Tasks of one instance of the environment."""

    families: tuple[str, ...]
    published: Published | None
    """None if nothing was imported."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that can be played and have no task in common."""
        return (*social.COUNTS, *(self.published.splits if self.published else ()))

    @property
    def data_version(self) -> str:
        """Text that is equal for equal tasks."""
        made = f"generated:{social.VERSION}"
        return f"{made}+imported:{self.published.catalogue.digest}" if self.published else made

    def tasks(self, split: str, difficulty: str | None) -> Sequence[SotopiaTask]:
        """As in `Environment`."""
        levels = (*LEVELS, HARD, STANDARD)
        if difficulty is not None and difficulty not in levels:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(levels)}")
        if split in social.COUNTS:
            chosen = [level for level in LEVELS if difficulty in (None, level)]
            made = social.tasks(split, self.families, chosen) if chosen else ()
            return LazySequence(len(made), lambda number: _generated(made[number].id))
        if self.published and split in self.published.names:
            return self.published.tasks(split, difficulty)
        known = ", ".join((*social.COUNTS, *(self.published.names if self.published else ())))
        hint = "" if self.published else f"; {IMPORT}"
        raise TaskNotFound(f"{NAME} has no split {split[:80]!r}; there are: {known}{hint}")

    def task(self, task_id: str) -> SotopiaTask:
        """The task with this id; raises `TaskNotFound`."""
        if task_id.partition("/")[0] in social.COUNTS:
            try:
                return _generated(social.task(task_id, self.families).id)
            except TaskNotFound:
                raise TaskNotFound(f"{NAME} has no task {task_id[:80]!r}") from None
        if self.published is None:
            raise TaskNotFound(f"{NAME} has no task {task_id[:80]!r}; {IMPORT}")
        return self.published.task(task_id)


@lru_cache(maxsize=1024)
def _generated(task_id: str) -> SotopiaTask:
    """The generated task with this id, one object for the episodes that play it at a time."""
    task = social.task(task_id, tuple(FAMILIES))
    return SotopiaTask(
        env=NAME,
        id=task.id,
        split=task.split,
        instruction=task.instruction,
        kind=task.kind,
        difficulty=task.difficulty,
        content=task,
    )
