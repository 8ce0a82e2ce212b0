"""Sources of tasks of one environment: `Shelf`."""

from collections.abc import Sequence

from agentgym_envs.core import TaskNotFound
from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.tasks import TauTask, Version

BASE, HALVES = "tau2_base", ("tau2_train", "tau2_test")
"""The benchmark's whole test set, and the splits that it consists of."""


class Shelf:
    """Several sources of tasks, with errors that say where more tasks come from."""

    def __init__(self, env: str, sources: Sequence[TaskSource]) -> None:
        self._env = env
        self._sources = tuple(sources)

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of all splits."""
        return tuple(split for source in self._sources for split in source.splits)

    @property
    def versions(self) -> tuple[Version, ...]:
        """The benchmarks whose rules hold for some task; the built-in tasks' first."""
        return tuple(dict.fromkeys(version for source in self._sources for version in source.versions))

    @property
    def digest(self) -> str:
        """Text that is equal for equal tasks."""
        return "+".join(source.digest for source in self._sources)

    def tasks(self, split: str) -> Sequence[TauTask]:
        """The tasks of a split; `BASE` is both of its halves. Raises `TaskNotFound`."""
        if split == BASE and split not in self.splits and set(HALVES).issubset(self.splits):
            return [task for half in HALVES for task in self.tasks(half)]
        for source in self._sources:
            if split in source.splits:
                return source.tasks(split)
        known = ", ".join(self.splits) or "none"
        raise TaskNotFound(
            f"{self._env} has no split {split[:80]!r}; there are: {known}; the benchmark's come by:"
            f" agentevol data import {self._env} DIR"
        )

    def task(self, task_id: str) -> TauTask:
        """The task with this id; raises `TaskNotFound`."""
        for source in self._sources:
            found = source.find(task_id)
            if found is not None:
                return found
        raise TaskNotFound(
            f"{self._env} has no task {task_id[:80]!r}; the benchmark's come by:"
            f" agentevol data import {self._env} DIR"
        )

    def domain_of(self, task: TauTask) -> Domain:
        """The data that a task is played on; raises `TaskNotFound`."""
        for source in self._sources:
            if task.split in source.splits:
                return source.domain(task.source)
        raise TaskNotFound(f"{self._env} has no data of the task {task.id[:80]!r}")
