"""Base data of a domain, and sources of its tasks: `Domain`, `TaskSource`, `Tasks`."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym_envs.core import TaskNotFound
from agentgym_envs.tau.judging.gold import Gold
from agentgym_envs.tau.tasks import TauTask, Version
from agentgym_envs.tau.world import Base


@dataclass(frozen=True, eq=False)
class Domain:
    """Base state and policy texts, which all episodes share and none changes."""

    tables: Base
    phone: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Base state of the customer's phone (telecom)."""
    policies: Mapping[str, str] = field(default_factory=dict[str, str])
    """Policy texts by name: `policy`, `policy_solo`, or `main`, `main_solo`, `manual`, `workflow`,
    `workflow_solo`.
    """
    golds: dict[tuple[str, bool], Gold] = field(default_factory=dict[tuple[str, bool], Gold])
    """Replayed gold states by task id and quirks: a cache."""
    rehearsals: dict[tuple[str, bool], bool] = field(default_factory=dict[tuple[str, bool], bool])
    """Whether a rehearsal with the scripted user is won, by task id and quirks: a cache."""


class TaskSource(ABC):
    """Tasks of some splits, and the data they are played on."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""

    @property
    @abstractmethod
    def versions(self) -> tuple[Version, ...]:
        """The benchmarks whose rules hold for some of the tasks."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Text that is equal for equal tasks."""

    @abstractmethod
    def tasks(self, split: str) -> Sequence[TauTask]:
        """The tasks of a split."""

    @abstractmethod
    def domain(self, source: str) -> Domain:
        """The data of the tasks whose `source` is this; raises `KeyError` if it has none."""

    def find(self, task_id: str) -> TauTask | None:
        """The task with this id, None if there is none."""
        for split in self.splits:
            for task in self.tasks(split):
                if task.id == task_id:
                    return task
        return None


class Tasks(TaskSource):
    """Tasks in memory."""

    def __init__(
        self, splits: Mapping[str, Sequence[TauTask]], domains: Mapping[str, Domain], digest: str
    ) -> None:
        self._splits = splits
        self._domains = domains
        self._digest = digest
        self._by_id = {task.id: task for tasks in splits.values() for task in tasks}

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self._splits)

    @property
    def versions(self) -> tuple[Version, ...]:
        return tuple(dict.fromkeys(task.version for task in self._by_id.values()))

    @property
    def digest(self) -> str:
        return self._digest

    def tasks(self, split: str) -> Sequence[TauTask]:
        if split not in self._splits:
            raise TaskNotFound(split)
        return self._splits[split]

    def domain(self, source: str) -> Domain:
        return self._domains[source]

    def find(self, task_id: str) -> TauTask | None:
        return self._by_id.get(task_id)
