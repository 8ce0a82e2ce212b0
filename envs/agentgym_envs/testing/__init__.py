"""Conformance check of the environment interface, which every environment must pass before training.

> report = check_environment(lambda: make("guess"))
> report.passed, report.lines()[0]
(True, 'ok    facts       1 checked')

Each check is a function that yields violations; an exception in the environment is a violation too.
"""

from collections.abc import Iterator
from itertools import islice

from agentgym_envs.episodes import Player
from agentgym_envs.testing.assets import check_assets
from agentgym_envs.testing.hostile import HOSTILE, check_hostile
from agentgym_envs.testing.play import (
    check_baselines,
    check_close,
    check_determinism,
    check_expert,
    check_fork,
    check_isolation,
    check_returns,
)
from agentgym_envs.testing.seats import check_seats
from agentgym_envs.testing.subject import Check, CheckResult, Factory, Report, Subject, spaced
from agentgym_envs.testing.tasks import check_facts, check_instruction, check_splits, check_tasks
from agentgym_envs.testing.tools import check_tools
from agentgym_envs.testing.waiting import check_waits

__all__ = ["CHECKS", "HOSTILE", "CheckResult", "Report", "check_environment"]

CHECKS: dict[str, Check] = {
    "facts": check_facts,
    "tasks": check_tasks,
    "splits": check_splits,
    "instruction": check_instruction,
    "determinism": check_determinism,
    "isolation": check_isolation,
    "hostile": check_hostile,
    "returns": check_returns,
    "close": check_close,
    "fork": check_fork,
    "expert": check_expert,
    "baselines": check_baselines,
    "waits": check_waits,
    "seats": check_seats,
    "tools": check_tools,
    "assets": check_assets,
}


def check_environment(
    factory: Factory,
    *,
    tasks_per_split: int = 4,
    rows_per_split: int = 200,
    seed: int = 0,
    step_limit_s: float = 5.0,
) -> Report:
    """Check an environment against the interface of `agentgym_envs.core`.

    `rows_per_split` tasks of each split are compared (ids, content) and `tasks_per_split` of them are played,
    all evenly spaced over the split. A step on a hostile action may take `step_limit_s`. Not for use inside a
    running event loop.
    """
    player = Player()
    subject = Subject(factory, player, seed, step_limit_s)
    try:
        drawing = _run("draw", lambda subject: _draw(subject, tasks_per_split, rows_per_split), subject)
        if drawing.violations:  # without tasks there is nothing else to check
            return Report(env=_name(factory), results=(drawing,))
        results = tuple(_run(name, check, subject) for name, check in CHECKS.items())
    finally:
        player.close()
    return Report(env=_name(factory), results=results)


def _name(factory: Factory) -> str:
    try:
        return factory().name
    except Exception as cause:  # noqa: BLE001 - an environment that cannot even be made is reported, too
        return f"? ({type(cause).__name__})"


def _run(name: str, check: Check, subject: Subject) -> CheckResult:
    subject.cases = 0
    violations: list[str] = []
    try:
        violations.extend(islice(check(subject), 20))
    except Exception as cause:  # noqa: BLE001 - an exception of an environment is a violation
        violations.append(f"raised {type(cause).__name__}: {str(cause)[:200]}")
    return CheckResult(name=name, cases=subject.cases, violations=tuple(violations))


def _draw(subject: Subject, tasks_per_split: int, rows_per_split: int) -> Iterator[str]:
    environment = subject.factory()
    total = 0
    for split in environment.splits:
        tasks = environment.tasks(split)
        total += len(tasks)
        subject.rows[split] = spaced(tasks, rows_per_split)
        subject.drawn.extend(spaced(tasks, tasks_per_split))
    subject.all_drawn = len(subject.drawn) == total
    environment.close()
    if not subject.drawn:
        yield "there is no task in any split"
