"""Environment of a help desk: `DeskEnvironment`, which retail, airline and mock complete with tools."""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.desk.tools import done, reply, submit_refusal
from agentgym_envs.tau.desk.world import DeskWorld
from agentgym_envs.tau.environment import TauEnvironment
from agentgym_envs.tau.tasks import Action, TauTask, Version
from agentgym_envs.tooluse import Toolset
from agentgym_envs.tooluse.calls import written
from agentgym_envs.tooluse.outcomes import Outcome


class DeskEnvironment(TauEnvironment[DeskWorld]):
    """Help desk over tables. The reward compares them with those that the gold actions leave, and, where the
    task says so, what the agent told the customer.

    Without a user (`solo`) the agent has the user's tools, `reply` for what the customer asks to be told, and
    `done`. With `strict`, a task whose gold solution changes and tells nothing has to be ended by
    `submit_refusal`.
    """

    refusals = (
        json.dumps([{"name": "transfer_to_human_agents", "arguments": {"summary": "-"}}, {"name": "done"}]),
        written("submit_refusal", reason="-"),
    )
    versions: ClassVar[Mapping[Version, Toolset]]
    """The agent's tools by version of the benchmark."""
    _solo_sets: ClassVar[dict[tuple[str, Version, bool], Toolset]] = {}

    def fresh(self, task: TauTask, domain: Domain, seed: int) -> DeskWorld:
        return DeskWorld(domain, task.version)

    def tools_of(self, version: Version) -> Toolset:
        return self.versions[version]

    def solo_tools_of(self, version: Version) -> Toolset:
        key = (self.name, version, self.strict)
        if key not in self._solo_sets:
            ends = [done, submit_refusal] if self.strict else [done]
            users = self.user_tools_of() or Toolset([])
            own = [*self.versions[version].values(), *users.values()]
            self._solo_sets[key] = Toolset([*own, reply, *ends])
        return self._solo_sets[key]

    def policy_of(self, task: TauTask, domain: Domain) -> str:
        return domain.policies.get("policy", "")

    def strict_fault(self, task: TauTask, world: DeskWorld) -> Outcome | None:
        refused = world.ended_by == "submit_refusal"
        if self.is_idle(task) and self.user_mode == "solo":
            return None if refused else "no_submit"
        return "refused_wrongly" if refused else None

    def is_idle(self, task: TauTask) -> bool:
        """True if the gold solution changes and tells nothing."""
        return "DB" in task.basis and not self.gold(task).changes and not task.communicate

    def solution(self, task: TauTask) -> Sequence[Action]:
        """The calls that solve a task: its gold actions."""
        return task.gold

    def expert(self, task: TauTask) -> list[str] | None:
        """The solution, what is to be told, and the end; None where there is a user."""
        if self.user_mode != "solo":
            return None
        tools = self.solo_tools_of(task.version)
        gold = [action for action in self.solution(task) if action.name in tools]
        plan = [written(one.name, **one.arguments) for one in gold if tools[one.name].kind != "control"]
        if task.communicate:
            plan.append(written("reply", text=", ".join(task.communicate)))
        if self.strict and self.is_idle(task):
            return [*plan, written("submit_refusal", reason="The policy does not allow it.")]
        ends = [written(one.name, **one.arguments) for one in gold if tools[one.name].kind == "control"]
        return [*plan, ends[-1] if ends else written("done")]
