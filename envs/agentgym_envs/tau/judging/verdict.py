"""Verdict of an ended episode: the benchmark's parts of the reward, and conditions of this project."""

from typing import Any, Protocol

from agentgym_envs.tau.judging import rewards
from agentgym_envs.tau.judging.gold import Gold
from agentgym_envs.tau.tasks import Assertion, Part, TauTask, Version
from agentgym_envs.tau.users import User, UserMode
from agentgym_envs.tau.world import World
from agentgym_envs.tooluse import Toolset, Verdict
from agentgym_envs.tooluse.outcomes import Outcome

FAILED: dict[Part, Outcome] = {
    "DB": "wrong_state",
    "ENV_ASSERTION": "wrong_state",
    "ACTION": "wrong_state",
    "COMMUNICATE": "wrong_answer",
    "NL_ASSERTION": "wrong_answer",
}


class JudgedEnvironment(Protocol):
    """Members of a tau environment that a verdict needs."""

    user_mode: UserMode
    user: User | None
    strict: bool

    def gold(self, task: TauTask, seed: int = 0) -> Gold: ...

    def holds(self, world: Any, assertion: Assertion) -> bool: ...

    def solo_tools_of(self, version: Version) -> Toolset: ...

    def strict_fault(self, task: TauTask, world: Any) -> Outcome | None: ...


def verdict_of(environment: JudgedEnvironment, task: TauTask, world: World) -> Verdict:
    """The verdict in the final state of an episode.

    `upstream_reward` among its details is the benchmark's own. Statements about the dialogue count if a judge
    was asked; without one, the agent has to have acted, and to have told what is to be told.
    """
    judged: list[Part] = [part for part in task.basis if part != "NL_ASSERTION"]
    parts: dict[Part, bool] = {part: _holds(part, environment, task, world) for part in judged}
    unjudged = world.judgement is None and has_statements(task)
    if world.judgement is not None:
        parts["NL_ASSERTION"] = world.judgement.holds
    if unjudged:
        parts["COMMUNICATE"] = _holds("COMMUNICATE", environment, task, world)
        parts["NL_ASSERTION"] = _has_acted(environment, task, world)
    fault: Outcome | None = next((FAILED[part] for part, good in parts.items() if not good), None)
    if fault is None and "COMMUNICATE" in parts and not rewards.told(task.communicate, world.messages):
        fault = "wrong_answer"
    if fault is None and environment.strict:
        fault = environment.strict_fault(task, world)
    details: dict[str, Any] = {
        "upstream_reward": float(all(parts.values())),
        "mode": environment.user_mode,
        "partial_basis": unjudged,
    }
    if world.judgement is not None:
        details["judge"] = world.judgement.told()
    if environment.user is not None:
        details["user"] = environment.user.figures()
    return Verdict(0.0 if fault else 1.0, fault or "success", details)


def has_statements(task: TauTask) -> bool:
    """True if the reward depends on statements about the dialogue."""
    return "NL_ASSERTION" in task.basis and bool(task.statements)


def _has_acted(environment: JudgedEnvironment, task: TauTask, world: World) -> bool:
    """True if the agent wrote or said something.

    Without a judge this, and what is to be told, stand for the statements about the dialogue: an agent that
    did nothing has met none.
    """
    tools = environment.solo_tools_of(task.version)
    return bool(world.messages) or any(tools[call.name].kind == "write" for call in world.calls)


def _holds(part: Part, environment: JudgedEnvironment, task: TauTask, world: World) -> bool:
    if part == "DB":
        gold = environment.gold(task, world.seed)
        return world.changes() == gold.changes and world.user_changes() == gold.user
    if part == "ENV_ASSERTION":
        return all(environment.holds(world, one) == one.value for one in task.assertions)
    if part == "ACTION":
        return all(rewards.matches(action, world.calls) for action in task.gold)
    return rewards.told_upstream(task.communicate, world.messages)
