"""Policies that change one thing about the expert's actions, found by trying it."""

from collections.abc import Sequence

from agentgym_envs.core import Task
from agentgym_envs.tooluse.attacks.domain import Domain, changes_state

MOST_TRIED = 20


def extra_write(domain: Domain, task: Task) -> Sequence[str] | None:
    """The expert's actions, and before the last of them one write of another task, which has an effect."""
    plan = domain.plan(task)
    others = [action for action in domain.writes if action not in plan]
    domain.random(task, "extra").shuffle(others)
    for action in others[:MOST_TRIED]:
        if changes_state(domain, task, [action], after=plan[:-1]):
            return [*plan[:-1], action, plan[-1]]
    return None


def double_send(domain: Domain, task: Task) -> Sequence[str] | None:
    """The expert's actions, with the last write twice; None where the repetition has no effect."""
    plan = domain.plan(task)
    place = max(
        (place for place, action in enumerate(plan[:-1]) if domain.kind(action) == "write"), default=None
    )
    if place is None or not changes_state(domain, task, [plan[place]], after=plan[: place + 1]):
        return None
    return [*plan[: place + 1], *plan[place:]]
