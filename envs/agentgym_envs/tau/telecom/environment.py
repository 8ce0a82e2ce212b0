"""Telecom of tau2-bench: `TauTelecom`.

> world = TauTelecom()
> task = world.tasks("train")[0]
> world.reset(task, seed=0)
> world.step('{"name": "check_status_bar", "arguments": {}}').observation.text
'Status Bar: ✈️ Airplane Mode | 🔋 80%'

Reward 1 where the benchmark's assertions about phone and line hold at the end, and, if a task cannot be
fixed, it was handed over.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

from pydantic import Field

from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.environment import BUILTIN, TauEnvironment
from agentgym_envs.tau.options import (
    JudgeModelOption,
    ShowsPolicy,
    Strict,
    Trainable,
    UserModelOption,
    UserOption,
)
from agentgym_envs.tau.tasks import Assertion, TauTask, Version
from agentgym_envs.tau.telecom import assertions, setup, strict
from agentgym_envs.tau.telecom.builtin import POLICY, builtin_tasks
from agentgym_envs.tau.telecom.phone import Phone
from agentgym_envs.tau.telecom.searcher import Searcher
from agentgym_envs.tau.telecom.tools import AGENT_TOOLS, PHONE_TOOLS, SOLO_TOOLS
from agentgym_envs.tau.telecom.world import TelecomWorld
from agentgym_envs.tooluse import CallError, StrictHistory, Toolset, ToolsInOption
from agentgym_envs.tooluse.calls import written
from agentgym_envs.tooluse.outcomes import Outcome

MOST_STARTS = 4096
"""Number of initial states that a process keeps, of a few kilobytes each."""
Guide = Literal["manual", "workflow"]
"""Technical support text of the benchmark's policy."""


class TauTelecom(TauEnvironment[TelecomWorld]):
    """Support of a mobile carrier: find and fix the faults of a phone and its line."""

    name = "tau-telecom"
    modes = ("solo", "stub", "llm")
    # The assertions are about the outcome: further writes are free, and one in six published tasks is to be
    # handed over, which a policy may do without a look. `strict` closes most of this.
    attack_bounds = {  # noqa: RUF012 - a class fact, never changed
        "always_refuse": (0.0, 0.3),
        "extra_write": (0.0, 1.0),
        "random_calls": (0.0, 0.1),
        "write_spray": (0.0, 0.4),
    }
    # Each tool once, without a look, repairs some phones.
    baselines = {"idle": (0.0, 0.0), "spray": (0.05, 0.15)}  # noqa: RUF012 - a class fact, never changed
    refusals = (
        json.dumps([{"name": "transfer_to_human_agents", "arguments": {"summary": "-"}}, {"name": "done"}]),
    )

    def __init__(
        self,
        *,
        guide: Annotated[Guide, Field(description="Technical support text of imported tasks.")] = "manual",
        user: UserOption = "solo",
        user_model: UserModelOption = None,
        judge_model: JudgeModelOption = None,
        strict: Strict = False,
        trainable: Trainable = False,
        policy: ShowsPolicy = True,
        tools_in: ToolsInOption = "schemas",
        strict_history: StrictHistory = False,
        home: Path | None = None,
        sources: Sequence[TaskSource] | None = None,
    ) -> None:
        if guide not in ("manual", "workflow"):
            raise ValueError(f"no guide {str(guide)[:80]!r}; there are: manual, workflow")
        super().__init__(
            user=user,
            user_model=user_model,
            judge_model=judge_model,
            strict=strict,
            trainable=trainable,
            policy=policy,
            tools_in=tools_in,
            strict_history=strict_history,
            home=home,
            sources=sources,
        )
        self.guide: Guide = guide

    @classmethod
    def builtin(cls) -> TaskSource:
        return builtin_tasks()

    def undone(self, task: TauTask) -> list[str]:
        """Wi-Fi calling is switched, and switched back."""
        return [written("toggle_wifi_calling"), written("toggle_wifi_calling")]

    def fresh(self, task: TauTask, domain: Domain, seed: int) -> TelecomWorld:
        starts = _starts(domain)
        world = starts.get(task.id)
        if world is None:
            world = TelecomWorld(domain, _phone_of(domain).copy())
            for call in task.setup:
                setup.invoke(world, call)
            if len(starts) >= MOST_STARTS:
                starts.clear()
            starts[task.id] = world
        return world.copy(seed)

    def tools_of(self, version: Version) -> Toolset:
        return AGENT_TOOLS

    def solo_tools_of(self, version: Version) -> Toolset:
        return SOLO_TOOLS

    def user_tools_of(self) -> Toolset | None:
        return PHONE_TOOLS

    def after_call(self, world: TelecomWorld) -> None:
        world.synchronise()

    def holds(self, world: TelecomWorld, assertion: Assertion) -> bool:
        return assertions.holds(world, assertion)

    def strict_fault(self, task: TauTask, world: TelecomWorld) -> Outcome | None:
        return strict.strict_fault(task, world, self.gold(task, world.seed))

    def evidence(self, task: TauTask) -> list[str]:
        """A look at everything that may block a fix, before a hand-over."""
        if not strict.is_transfer(task):
            return []
        unseated = any(call.function == "unseat_sim_card" for call in task.setup)
        world = self.fresh(task, self.domain_of(task), 0)
        return [
            written("check_network_status"),
            *([written("reseat_sim_card")] if unseated else []),
            written("check_sim_status"),
            written("check_apn_settings"),
            written("get_details_by_id", id=world.own_line_id),
            *(written(look.name, **look.arguments) for look in strict.looks(task) if look.arguments),
        ]

    def policy_of(self, task: TauTask, domain: Domain) -> str:
        if task.source == BUILTIN:
            return POLICY
        alone = "_solo" if self.user_mode == "solo" else ""
        guide = f"workflow{alone}" if self.guide == "workflow" else "manual"
        return _policy(domain, f"main{alone}", guide)

    def demonstrate(self, task: TauTask, seed: int, care: float = 1.0) -> list[str]:
        """Messages of the scripted searcher of `agentgym_envs.tau.telecom.searcher`."""
        world = self.fresh(task, self.domain_of(task), seed)
        actions = list[str]()

        def call(name: str, /, **arguments: Any) -> str:
            actions.append(written(name, **arguments))
            try:
                return self.rendered(self.run_tool(world, SOLO_TOOLS[name], arguments))
            except CallError as error:
                return self.rendered_error(error)

        Searcher(task.instruction, call, Random(f"{seed}/{task.id}"), care).play()
        return actions


@lru_cache(maxsize=16)
def _starts(domain: Domain) -> dict[str, TelecomWorld]:  # noqa: ARG001 - one for each domain
    """States after the set-up calls by task id: a cache, whose states are copied."""
    return {}


@lru_cache(maxsize=16)
def _phone_of(domain: Domain) -> Phone:
    """The phone of a domain, to be copied."""
    return Phone.of(domain.phone)


@lru_cache(maxsize=64)
def _policy(domain: Domain, main: str, guide: str) -> str:
    """The benchmark's policy text."""
    texts = domain.policies
    return (
        f"<main_policy>\n{texts[main]}\n</main_policy>\n"
        f"<tech_support_policy>\n{texts[guide]}\n</tech_support_policy>"
    )
