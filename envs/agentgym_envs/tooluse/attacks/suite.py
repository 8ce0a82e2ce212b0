"""The suite: plays the policies, and compares their mean returns with what they may earn."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentgym_envs.core import Record, Task
from agentgym_envs.testing.subject import spaced
from agentgym_envs.tooluse.attacks.changes import double_send, extra_write
from agentgym_envs.tooluse.attacks.domain import AnyEnvironment, Domain
from agentgym_envs.tooluse.attacks.policies import POLICIES, Policy, shortcut_policies

Bounds = tuple[float, float]
BOUNDS: dict[str, Bounds] = {
    "oracle": (1.0, 1.0),
    "oracle_shuffled": (1.0, 1.0),
    "undo_redo": (1.0, 1.0),
    "always_refuse": (0.0, 0.03),
    "constant_answer": (0.0, 0.05),
    "schema_dump": (0.0, 0.05),
    "random_calls": (0.0, 0.02),
}
"""Mean returns that a policy may have; 0 for others. An environment's `attack_bounds` come first."""
STRICT_BOUNDS: dict[str, Bounds] = {"undo_redo": (0.0, 0.0)}
"""The bounds of environments with `strict_history`."""
HARMFUL = ("forge_object", "hostile_strings", "call_flood", "control_reach", "write_spray")
"""Policies after each of whose episodes an honest one has to earn the maximum."""
MOST_CONSTANTS = 20


class AttackResult(Record):
    """Result of one policy."""

    name: str
    episodes: int
    """0 if the policy applies to no task."""
    mean: float
    """Mean return."""
    low: float
    high: float
    """Bounds of the mean."""
    slowest_ms: float
    """Longest answer to an action."""
    violations: tuple[str, ...]


class AttackReport(Record):
    """Results of all policies on one environment."""

    env: str
    data_version: str
    tasks: int
    results: tuple[AttackResult, ...]

    @property
    def passed(self) -> bool:
        """True if no policy earned what it may not, and none did harm."""
        return not any(result.violations for result in self.results)


@dataclass
class _Tally:
    returns: list[float] = field(default_factory=list[float])
    slowest_s: float = 0.0
    violations: list[str] = field(default_factory=list[str])


def attack(
    environment: AnyEnvironment,
    tasks: int | None = 50,
    *,
    splits: Sequence[str] = (),
    step_limit_s: float = 5.0,
) -> AttackReport:
    """Play every policy on `tasks` tasks of each of the splits (all by default), evenly spaced; None plays
    all.

    An answer to an action may take `step_limit_s`. After an episode that tries to do harm, the expert's in
    the same instance has to earn 1.
    """
    domain = _domain(environment, tasks, splits or environment.splits)
    policies: dict[str, Policy] = {
        **POLICIES,
        "extra_write": extra_write,
        "double_send": double_send,
        **shortcut_policies(domain),
    }
    results = [_played(domain, name, policy, step_limit_s) for name, policy in policies.items()]
    refusals = [[action] for action in environment.refusals]
    finals = [[action] for action in domain.finals[:MOST_CONSTANTS] if [action] not in refusals]
    results.append(_best_constant(domain, "always_refuse", refusals, step_limit_s))
    results.append(_best_constant(domain, "constant_answer", finals, step_limit_s))
    return AttackReport(
        env=environment.name,
        data_version=environment.data_version,
        tasks=len(domain.tasks),
        results=tuple(results),
    )


def _domain(environment: AnyEnvironment, tasks: int | None, splits: Sequence[str]) -> Domain:
    found = list[Task]()
    for split in splits:
        rows = environment.tasks(split)
        found += list(rows) if tasks is None else spaced(rows, tasks)
    plans = {task.id: plan for task in found if (plan := environment.expert(task)) is not None}
    known = [task.id for task in found if task.id in plans and task.split == splits[0]]
    return Domain(environment, [task for task in found if task.id in plans], plans, known)


def _played(domain: Domain, name: str, policy: Policy, step_limit_s: float) -> AttackResult:
    tally = _Tally()
    for task in domain.tasks:
        actions = policy(domain, task)
        if actions is None:
            continue
        _play(domain, task, actions, tally, again=name in HARMFUL)
        if name in HARMFUL:
            _honest(domain, task, tally)
    return _result(domain, name, tally, step_limit_s)


def _best_constant(
    domain: Domain, name: str, constants: Sequence[Sequence[str]], step_limit_s: float
) -> AttackResult:
    """The constant policy that earns most."""
    tallies = [_Tally()]
    for actions in constants:
        tallies.append(_Tally())
        for task in domain.tasks:
            _play(domain, task, actions, tallies[-1])
    best = max(tallies, key=lambda tally: sum(tally.returns) / max(1, len(tally.returns)))
    return _result(domain, name, best if best.returns else tallies[-1], step_limit_s)


def _play(domain: Domain, task: Task, actions: Sequence[str], tally: _Tally, *, again: bool = False) -> None:
    """Send all actions, also after the end: what is paid then counts too.

    `again`: where the turns run out, the rest is sent in another episode.
    """
    total = 0.0
    try:
        domain.environment.reset(task, domain.seed)
        for action in actions:
            started = time.perf_counter()
            result = domain.environment.step(action)
            tally.slowest_s = max(tally.slowest_s, time.perf_counter() - started)
            total += result.reward
            if result.truncated and again:
                domain.environment.reset(task, domain.seed)
    except Exception as cause:  # noqa: BLE001 - an exception of the environment is the violation
        tally.violations.append(f"{task.id}: raised {type(cause).__name__}: {str(cause)[:200]}")
    tally.returns.append(total)


def _honest(domain: Domain, task: Task, tally: _Tally) -> None:
    honest = _Tally()
    _play(domain, task, domain.plan(task), honest)
    tally.violations += honest.violations
    if honest.returns != [1.0]:
        tally.violations.append(f"{task.id}: after it the expert earns {honest.returns[0]}")


def chance(low: float, high: float, count: int) -> float:
    """Three standard errors of the mean of `count` returns of 0 or 1 whose true mean is `low` or `high`; 0
    where the bounds are 0 or 1, for then no other return is allowed.
    """
    variance = max(mean * (1 - mean) for mean in (low, high))
    return 3 * math.sqrt(variance / max(1, count))


def _result(domain: Domain, name: str, tally: _Tally, step_limit_s: float) -> AttackResult:
    bounds = {**BOUNDS, **(STRICT_BOUNDS if domain.environment.strict_history else {})}
    low, high = domain.environment.attack_bounds.get(name, bounds.get(name, (0.0, 0.0)))
    mean = sum(tally.returns) / max(1, len(tally.returns))
    violations = tally.violations
    spread = chance(low, high, len(tally.returns))
    if tally.returns and not low - spread - 1e-9 <= mean <= high + spread + 1e-9:
        violations = [f"earns {mean:.4f} in the mean, not {low:g} to {high:g}", *violations]
    if tally.slowest_s > step_limit_s:
        violations = [f"an answer took {tally.slowest_s:.1f} s, more than {step_limit_s} s", *violations]
    return AttackResult(
        name=name,
        episodes=len(tally.returns),
        mean=mean,
        low=low,
        high=high,
        slowest_ms=tally.slowest_s * 1000,
        violations=tuple(violations[:20]),
    )
