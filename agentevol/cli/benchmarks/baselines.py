"""Scores of players without a model on every environment and split: `agentevol bench baselines --all`.

`oracle` follows the environment's expert, on the tasks that have one; `random` sends random admissible
actions, `idle` empty ones, `spray` every admissible action in turn. Tasks are evenly spaced over a split.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.progress import say
from agentevol.cli.console.processes import mapped
from agentevol.core.errors import ConfigError
from agentevol.loop.report.intervals import bootstrap_mean, wilson

if TYPE_CHECKING:
    from agentgym_envs.core import Environment, Task
    from agentgym_envs.episodes import Chooser, Player

PLAYERS: Final = ("oracle", "random", "idle", "spray")
TASKS: Final = 50
HEAD: Final = f"| environment | split | tasks | {' | '.join(PLAYERS)} |\n|{'---|' * (3 + len(PLAYERS))}"


@dataclass(frozen=True)
class Mean:
    """Mean return, with its interval of 95 %: Wilson's where returns are 0 or 1, else a bootstrap."""

    tasks: int
    """Number of tasks that were played."""
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Row:
    """Scores of a split."""

    env: str
    split: str
    tasks: int
    scores: dict[str, Mean | None]
    """By player; None where no task has an expert."""
    failed: int = 0
    """Episodes that raised: they have no score."""

    def __str__(self) -> str:
        cells: list[str] = []
        for name in PLAYERS:
            score = self.scores[name]
            cell = "–" if score is None else str(score)
            cells.append(f"{cell}, {score.tasks} tasks" if score and score.tasks < self.tasks else cell)
        note = f", {self.failed} episodes failed" if self.failed else ""
        return f"| `{self.env}` | {self.split} | {self.tasks}{note} | {' | '.join(cells)} |"


def main(
    *, json: bool, names: Sequence[str] = (), every: bool = False, tasks: int = TASKS, jobs: int = 1
) -> None:
    """Play and print the table, environment by environment."""
    from agentgym_envs.registry import names as known

    if bool(names) == every:
        raise ConfigError("name environments, or give --all")
    chosen = known() if every else list(names)
    report("baselines", partial(_table, chosen, tasks, jobs), json=json)


def _table(names: Sequence[str], tasks: int, jobs: int) -> dict[str, Any]:
    print(HEAD)
    rows: list[Row] = []
    for found in mapped(partial(measured, tasks=tasks), names, jobs):
        if isinstance(found, str):
            say(found)
            continue
        for row in found:
            print(row, flush=True)
        rows += found
    return {"tasks": tasks, "rows": [asdict(row) for row in rows]}


def measured(name: str, tasks: int) -> list[Row] | str:
    """Rows of an environment, or what it needs and this machine lacks. Raises `UnknownEnvironment`."""
    from agentgym_envs.episodes import Player
    from agentgym_envs.registry import EnvironmentUnavailable, make
    from agentgym_envs.testing.subject import spaced

    try:
        environment = make(name)
    except EnvironmentUnavailable as cause:
        return f"{name} is not measured: {cause}"
    player = Player()
    try:
        return [
            _row(player, environment, split, spaced(environment.tasks(split), tasks))
            for split in environment.splits
        ]
    finally:
        environment.close()
        player.close()


def _row(player: "Player", environment: "Environment[Any]", split: str, tasks: Sequence["Task"]) -> Row:
    returns = {name: _returns(player, environment, name, tasks) for name in PLAYERS}
    scores = {name: _mean([one for one in found if one is not None]) for name, found in returns.items()}
    failed = sum(one is None for one in chain.from_iterable(returns.values()))
    return Row(environment.name, split, len(tasks), scores, failed)


def _returns(
    player: "Player", environment: "Environment[Any]", name: str, tasks: Sequence["Task"]
) -> list[float | None]:
    """Returns of a player, None for an episode that raised; the oracle's of tasks with an expert."""
    from agentgym_envs.core import DependencyFault

    found: list[float | None] = []
    for number, task in enumerate(tasks):
        chooser = _chooser(environment, name, task, number)
        if chooser is None:
            continue
        try:
            found.append(player.play(environment, task, chooser, seed=number).total_reward)
        except DependencyFault:  # a model that the environment needs is missing: no score
            found.append(None)
    return found


def _chooser(environment: "Environment[Any]", name: str, task: "Task", number: int) -> "Chooser | None":
    from agentgym_envs.episodes import follow, idle, shuffled, spray

    if name == "oracle":
        plan = environment.expert(task)
        return None if plan is None else follow(plan)
    return {"random": shuffled(number), "idle": idle, "spray": spray}[name]


def _mean(returns: Sequence[float]) -> Mean | None:
    if not returns:
        return None
    is_binary = set(returns) <= {0.0, 1.0}
    low, high = wilson(returns.count(1.0), len(returns)) if is_binary else bootstrap_mean(returns, 0)
    return Mean(len(returns), fmean(returns), low, high)
