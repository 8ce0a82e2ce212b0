"""Retail of tau-bench and tau2-bench: `TauRetail`.

> world = TauRetail()
> task = world.tasks("train")[0]
> world.reset(task, seed=0)
> world.step('{"name": "calculate", "arguments": {"expression": "2 * 3.5"}}').observation.text
'7.0'
"""

from agentgym_envs.tau.data.domain import TaskSource
from agentgym_envs.tau.desk import DeskEnvironment
from agentgym_envs.tau.retail.builtin import builtin_tasks
from agentgym_envs.tau.retail.tools import TAU1_TOOLS, TAU2_TOOLS

UNCHANGED = (0.0, 0.08)
"""Reward of an unchanged database: it solves 6 of 91 published tasks of tau2, and 7 of 92 of tau1."""


class TauRetail(DeskEnvironment):
    """Help desk of a shop: orders are cancelled, changed, returned and exchanged. Options: see
    `TauEnvironment`.
    """

    name = "tau-retail"
    attack_bounds = dict.fromkeys(
        (
            *("do_nothing", "empty_submit", "submit_first", "always_refuse", "constant_answer"),
            *("answer_spray", "schema_dump", "random_calls", "hostile_strings"),
        ),
        UNCHANGED,
    ) | {"answer_spray": (0.0, 1.0)}  # tasks with a transfer as their end, of which any text will do
    baselines = {"idle": (0.0, 0.0), "spray": UNCHANGED}  # noqa: RUF012 - a class fact, never changed
    versions = {"tau1": TAU1_TOOLS, "tau2": TAU2_TOOLS}  # noqa: RUF012 - a class fact, never changed

    @classmethod
    def builtin(cls) -> TaskSource:
        return builtin_tasks()
