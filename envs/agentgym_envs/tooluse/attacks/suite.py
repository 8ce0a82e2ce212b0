"""The suite: plays the policies, and compares their mean returns with what they may earn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agentgym_envs.core import Record, Task
from agentgym_envs.testing.stopwatch import Stopwatch
from agentgym_envs.testing.subject import spaced
from agentgym_envs.tooluse.attacks.bounds import (
    BOUNDS,
    STRICT_BOUNDS,
    Status,
    is_within,
    standard_error,
    status_of,
)
from agentgym_envs.tooluse.attacks.changes import double_send, extra_write
from agentgym_envs.tooluse.attacks.domain import AnyEnvironment, Domain
from agentgym_envs.tooluse.attacks.policies import POLICIES, Policy, shortcut_policies

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
    standard_error: float
    """Standard error of a mean at these bounds, of which three are tolerated; 0 where they are 0 or 1."""
    status: Status
    slowest_ms: float
    """Longest answer to an action."""
    violations: tuple[str, ...]


class Played(Record):
    """Tasks of a split that were attacked."""

    tasks: int
    of: int
    """Tasks that the split has."""


class AttackReport(Record):
    """Results of all policies on one environment."""

    env: str
    data_version: str
    tasks: int
    splits: dict[str, Played]
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
    progress: Callable[[int], None] = lambda _: None,
) -> AttackReport:
    """Play every policy on `tasks` tasks of each of the splits (all by default), evenly spaced; None plays
    all.

    An answer to an action may take `step_limit_s`, without what the thread waits for a core. After an
    episode that tries to do harm, the expert's in the same instance has to earn 1. `progress` is called with
    the number of tasks that are done.
    """
    chosen = splits or environment.splits
    domain = _domain(environment, tasks, chosen)
    policies: dict[str, Policy] = {
        **POLICIES,
        "extra_write": extra_write,
        "double_send": double_send,
        **shortcut_policies(domain),
    }
    refusals = [[action] for action in environment.refusals]
    finals = [[action] for action in domain.finals[:MOST_CONSTANTS] if [action] not in refusals]
    constants = {"always_refuse": refusals, "constant_answer": finals}
    tallies = _tallies(domain, policies, constants, progress)
    results = [_result(domain, name, _best(found), step_limit_s) for name, found in tallies.items()]
    return AttackReport(
        env=environment.name,
        data_version=environment.data_version,
        tasks=len(domain.tasks),
        splits={split: Played(tasks=count, of=of) for split, (count, of) in domain.played.items()},
        results=tuple(results),
    )


def _tallies(
    domain: Domain,
    policies: Mapping[str, Policy],
    constants: Mapping[str, Sequence[Sequence[str]]],
    progress: Callable[[int], None],
) -> dict[str, list[_Tally]]:
    """Tallies of each policy, and of each of the actions that a constant one may take.

    A task meets all policies before the next one does: its data are made once, and not for each policy.
    """
    played = {name: _Tally() for name in policies}
    constant = {name: [_Tally() for _ in choices] for name, choices in constants.items()}
    for number, task in enumerate(domain.tasks, 1):
        for name, policy in policies.items():
            _attacked(domain, task, name, policy(domain, task), played[name])
        for name, choices in constants.items():
            for actions, tally in zip(choices, constant[name], strict=True):
                _play(domain, task, actions, tally)
        progress(number)
    return {name: [tally] for name, tally in played.items()} | constant


def _domain(environment: AnyEnvironment, tasks: int | None, splits: Sequence[str]) -> Domain:
    """The tasks that have an expert, of which those of the first split are known to an attacker."""
    found, plans, known = list[Task](), dict[str, Sequence[str]](), list[str]()
    played = dict[str, tuple[int, int]]()
    for split in splits:
        rows = environment.tasks(split)
        drawn = list(rows) if tasks is None else spaced(rows, tasks)
        own = {task.id: plan for task in drawn if (plan := environment.expert(task)) is not None}
        found += [task for task in drawn if task.id in own]
        known = list(own) if split == splits[0] else known
        played[split] = (len(own), len(rows))
        plans |= own
    return Domain(environment, found, plans, known, played)


def _attacked(domain: Domain, task: Task, name: str, actions: Sequence[str] | None, tally: _Tally) -> None:
    """Play the actions of a policy, and after those that try to do harm the expert's."""
    if actions is None:
        return
    _play(domain, task, actions, tally, again=name in HARMFUL)
    if name in HARMFUL:
        _honest(domain, task, tally)


def _best(tallies: Sequence[_Tally]) -> _Tally:
    """The constant policy that earns most; of a policy that is not constant, its only tally."""
    return max(tallies, key=_mean, default=_Tally())


def _mean(tally: _Tally) -> float:
    return sum(tally.returns) / max(1, len(tally.returns))


def _play(domain: Domain, task: Task, actions: Sequence[str], tally: _Tally, *, again: bool = False) -> None:
    """Send all actions, also after the end: what is paid then counts too.

    `again`: where the turns run out, the rest is sent in another episode.
    """
    total = 0.0
    try:
        domain.environment.reset(task, domain.seed)
        for action in actions:
            watch = Stopwatch()
            result = domain.environment.step(action)
            tally.slowest_s = max(tally.slowest_s, watch.seconds)
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


def _result(domain: Domain, name: str, tally: _Tally, step_limit_s: float) -> AttackResult:
    bounds = {**BOUNDS, **(STRICT_BOUNDS if domain.environment.strict_history else {})}
    low, high = domain.environment.attack_bounds.get(name, bounds.get(name, (0.0, 0.0)))
    mean, violations, count = _mean(tally), tally.violations, len(tally.returns)
    error = standard_error(low, high, count)
    if count and not is_within(mean, low, high, error):
        violations = [f"earns {mean:.4f} in the mean, not {low:g} to {high:g}", *violations]
    if tally.slowest_s > step_limit_s:
        violations = [f"an answer took {tally.slowest_s:.1f} s, more than {step_limit_s} s", *violations]
    return AttackResult(
        name=name,
        episodes=count,
        mean=mean,
        low=low,
        high=high,
        standard_error=error,
        status=status_of(mean, low, high, count, violated=bool(violations)),
        slowest_ms=tally.slowest_s * 1000,
        violations=tuple(violations[:20]),
    )
