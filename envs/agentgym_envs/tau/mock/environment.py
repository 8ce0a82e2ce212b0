"""Mock domain of tau2-bench: `TauMock`.

> world = TauMock()
> task = world.tasks("train")[0]
> world.reset(task, seed=0)
> world.step('{"name": "dismiss_notification", "arguments": {"notification_id": "x"}}').observation.text
'Error: Notification x not found'
"""

from collections.abc import Sequence

from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.desk import DeskEnvironment, DeskWorld
from agentgym_envs.tau.mock.builtin import builtin_tasks
from agentgym_envs.tau.mock.functions import invoke
from agentgym_envs.tau.mock.tools import AGENT_TOOLS, INBOX_TOOLS
from agentgym_envs.tau.tasks import Action, Assertion, TauTask
from agentgym_envs.tooluse import Toolset


class TauMock(DeskEnvironment):
    """To-do list of a team, and the inbox of the user: small tasks, which begin in all the ways that
    tau2-bench knows. Options: see `TauEnvironment`.
    """

    name = "tau-mock"
    modes = ("solo", "stub", "llm")
    # Of 9 published tasks any end wins one, a transfer another, and further writes are free in two.
    attack_bounds = dict.fromkeys(
        (
            *("do_nothing", "empty_submit", "always_refuse", "constant_answer", "schema_dump"),
            *("write_spray", "extra_write", "random_calls"),
        ),
        (0.0, 0.23),
    )
    baselines = {"idle": (0.0, 0.0), "spray": (0.0, 0.23)}  # noqa: RUF012 - a class fact, never changed
    versions = {"tau2": AGENT_TOOLS}  # noqa: RUF012 - a class fact, never changed

    @classmethod
    def builtin(cls) -> TaskSource:
        return builtin_tasks()

    def fresh(self, task: TauTask, domain: Domain, seed: int) -> DeskWorld:
        world = super().fresh(task, domain, seed)
        for call in task.setup:
            invoke(world, call)
        return world

    def user_tools_of(self) -> Toolset | None:
        return INBOX_TOOLS

    def policy_of(self, task: TauTask, domain: Domain) -> str:
        return domain.policies["policy_solo" if self.user_mode == "solo" else "policy"]

    def holds(self, world: DeskWorld, assertion: Assertion) -> bool:
        return bool(invoke(world, assertion))

    def solution(self, task: TauTask) -> Sequence[Action]:
        """The gold actions; where a task has only assertions, the calls that make them hold."""
        return task.gold or [
            Action(
                name="update_task_status",
                arguments={
                    "task_id": one.arguments["task_id"],
                    "status": one.arguments["expected_status"],
                },
            )
            for one in task.assertions
            if one.function == "assert_task_status"
        ]
