"""Airline of tau-bench and tau2-bench: `TauAirline`.

> world = TauAirline()
> task = world.tasks("train")[0]
> world.reset(task, seed=0)
> world.step('{"name": "calculate", "arguments": {"expression": "2 * 3.5"}}').observation.text
'7.0'
"""

from agentgym_envs.tau.airline.builtin import builtin_tasks
from agentgym_envs.tau.airline.tools import TAU1_TOOLS, TAU2_TOOLS
from agentgym_envs.tau.data.domain import TaskSource
from agentgym_envs.tau.desk import DeskEnvironment

UNCHANGED = (0.0, 0.54)
"""Reward of an unchanged database: it solves 23 of 50 published tasks of tau2, 16 of them among the 30 of
`tau2_train`, and 19 of tau1's.
"""


class TauAirline(DeskEnvironment):
    """Help desk of an airline: reservations are booked, changed and cancelled. Options: see
    `TauEnvironment`.
    """

    name = "tau-airline"
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
