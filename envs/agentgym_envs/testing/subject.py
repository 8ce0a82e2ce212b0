"""Input of a check (`Subject`) and its result (`Report`)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agentgym_envs.core import Environment, Record, Task
from agentgym_envs.episodes import Chooser, Episode, Player

Factory = Callable[[], Environment[Any]]
ItemT = TypeVar("ItemT")


class CheckResult(Record):
    """Result of one check."""

    name: str
    cases: int
    """Number of cases; 0 if the environment does not offer the checked feature."""
    violations: tuple[str, ...]


class Report(Record):
    """Results of all checks of one environment."""

    env: str
    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """True if there is no violation."""
        return not any(result.violations for result in self.results)

    def lines(self) -> list[str]:
        """One line for each check, and one below it for each violation."""
        lines: list[str] = []
        for result in self.results:
            state = "FAIL" if result.violations else "ok" if result.cases else "none"
            lines.append(f"{state:5} {result.name:11} {result.cases} checked")
            lines.extend(f"      - {violation}" for violation in result.violations)
        return lines


@dataclass
class Subject:
    """Environment under check: its factory, the tasks drawn from it, and a count of cases."""

    factory: Factory
    player: Player
    seed: int
    step_limit_s: float
    rows: dict[str, list[Task]] = field(default_factory=dict[str, "list[Task]"])
    """Split to checked tasks, evenly spaced over the split."""
    drawn: list[Task] = field(default_factory=list["Task"])
    """Tasks that are played: some of each split."""
    all_drawn: bool = False
    """True if `drawn` has all tasks."""
    cases: int = 0

    def play(self, task: Task, choose: Chooser, environment: Environment[Any] | None = None) -> Episode:
        """One episode, on a fresh instance unless one is given."""
        self.cases += 1
        instance = environment or self.factory()
        try:
            return self.player.play(instance, task, choose, seed=self.seed)
        finally:
            if environment is None:
                instance.close()


Check = Callable[[Subject], Iterator[str]]
"""Yields one line per violation, and counts the cases in `Subject.cases`."""


def spaced(items: Sequence[ItemT], count: int) -> list[ItemT]:
    """At most `count` items of a sequence, evenly spaced, the first and the last among them."""
    if len(items) <= count:
        return [items[index] for index in range(len(items))]
    if count <= 1:
        return [items[0]] * count
    return [items[index * (len(items) - 1) // (count - 1)] for index in range(count)]


def raised_by(request: Callable[[], object]) -> Exception | None:
    """The exception that a call raises, if any."""
    try:
        request()
    except Exception as raised:  # noqa: BLE001 - the exception itself is checked
        return raised
    return None
