"""Policies that change one thing about the expert's actions, found by trying it."""

from collections.abc import Sequence

from agentgym_envs.core import Task
from agentgym_envs.tooluse.attacks.domain import Domain

MOST_TRIED = 20


def extra_write(domain: Domain, task: Task) -> Sequence[str] | None:
    """The expert's actions, and before the last of them one write of another task, which has an effect."""
    plan = domain.plan(task)
    others = [action for action in domain.writes if action not in plan]
    domain.random(task, "extra").shuffle(others)
    for action in others[:MOST_TRIED]:
        if _has_effect(domain, task, plan[:-1], action):
            return [*plan[:-1], action, plan[-1]]
    return None


def double_send(domain: Domain, task: Task) -> Sequence[str] | None:
    """The expert's actions, with the last effect that can be repeated twice."""
    plan = domain.plan(task)
    for place in range(len(plan) - 2, -1, -1):
        repeated = [*plan[: place + 1], *plan[place:-1]]
        if domain.kind(plan[place]) == "write" and _has_effect(
            domain, task, repeated[: place + 1], plan[place]
        ):
            return [*plan[: place + 1], *plan[place:]]
    return None


def _has_effect(domain: Domain, task: Task, before: Sequence[str], action: str) -> bool:
    """True if an action after others changes the state and does not end the episode."""
    environment = domain.environment
    environment.reset(task, domain.seed)
    for one in before:
        environment.step(one)
    state = environment.net_change()
    result = environment.step(action)
    ended = result.terminated or result.truncated
    return not ended and environment.net_change() != state
