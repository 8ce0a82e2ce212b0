"""Conditions of the option `strict`, beyond the benchmark's reward.

A fixable task fails if it is handed over; rows of the company that differ from the gold solution's are
collateral; and a hand-over needs, before it, a look that shows what blocks the fix: a successful one, at the
task's own line or its customer's bills.
"""

from itertools import takewhile

from agentgym_envs.tau.judging.gold import Gold
from agentgym_envs.tau.tasks import Invocation, TauTask
from agentgym_envs.tau.telecom.builtin.faults import TRANSFER
from agentgym_envs.tau.telecom.world import TelecomWorld
from agentgym_envs.tau.world import Executed
from agentgym_envs.tooluse.outcomes import Outcome


def is_transfer(task: TauTask) -> bool:
    """True if the only right end of a task is a hand-over."""
    return any(action.name == TRANSFER for action in task.gold)


def strict_fault(task: TauTask, world: TelecomWorld, gold: Gold) -> Outcome | None:
    """The condition that an episode broke, None if it kept all."""
    if not is_transfer(task):
        if world.called(TRANSFER):
            return "refused_wrongly"
    elif not _looked_first(task, world):
        return "missing_evidence"
    return None if world.changes() == gold.changes else "collateral"


def looks(task: TauTask) -> list[Executed]:
    """A call for each block of a task that shows it."""
    return [look for call in task.setup if (look := _look(call)) is not None]


def _look(call: Invocation) -> Executed | None:
    if call.function == "lock_sim_card":
        return Executed("check_sim_status", {})
    if call.function == "suspend_line_for_overdue_bill" and call.arguments.get("contract_ended"):
        return Executed("get_details_by_id", {"id": call.arguments["line_id"]})
    if call.function == "refuel_data":
        owner = {name: call.arguments[name] for name in ("customer_id", "line_id")}
        return Executed("get_data_usage", owner)
    return None


def _looked_first(task: TauTask, world: TelecomWorld) -> bool:
    """True if a block was seen before the hand-over."""
    before = takewhile(lambda call: call.name != TRANSFER, world.calls)
    seen = [call for call in before if not call.refused]
    return any(_shows(world, block, call) for block in task.setup for call in seen)


def _shows(world: TelecomWorld, block: Invocation, call: Executed) -> bool:
    """True if the answer to a call shows what a set-up function did."""
    look, given = _look(block), call.arguments
    if look is None:
        return False
    if look.name == "check_sim_status":
        return call.name == look.name and "locked" in call.text
    if look.name == "get_data_usage":
        return (call.name, given) == (look.name, look.arguments)
    customer_id = block.arguments["customer_id"]
    if call.name == "get_bills_for_customer":
        return given["customer_id"] == customer_id
    known = (look.arguments["id"], *world.customer(customer_id)["bill_ids"])
    return call.name == look.name and given["id"] in known
