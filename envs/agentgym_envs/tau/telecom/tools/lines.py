"""Tools of the agent that change lines and bills."""

import hashlib
import math
from typing import Any

from agentgym_envs.tau.telecom.world import TODAY, TelecomWorld
from agentgym_envs.tooluse import ToolError, tool
from agentgym_envs.tooluse.tables import Row

NEXT_MONTH = ("2025-03-01", "2025-03-31", "2025-03-15")
"""Start, end and due date of the next month's bill, which is issued on its first day."""


@tool("write")
def suspend_line(world: TelecomWorld, customer_id: str, line_id: str, reason: str) -> dict[str, Any]:  # noqa: ARG001
    """Suspend an active line, for at most six months.

    Args:
        customer_id: Id of the customer.
        line_id: Id of the customer's line.
        reason: Reason for the suspension.
    """
    if world.line_of(customer_id, line_id)["status"] != "Active":
        raise ToolError("Line must be active to suspend")
    line = world.tables["lines"].edit(line_id)
    line["status"], line["suspension_start_date"] = "Suspended", TODAY
    return {"message": "Line suspended successfully. $5/month holding fee will apply.", "line": line}


@tool("write")
def resume_line(world: TelecomWorld, customer_id: str, line_id: str) -> dict[str, Any]:
    """Resume a line that is suspended or pending activation.

    Args:
        customer_id: Id of the customer.
        line_id: Id of the customer's line.
    """
    if world.line_of(customer_id, line_id)["status"] not in ("Suspended", "Pending Activation"):
        raise ToolError("Line must be suspended to resume")
    line = world.tables["lines"].edit(line_id)
    line["status"], line["suspension_start_date"] = "Active", None
    return {"message": "Line resumed successfully", "line": line}


@tool("write")
def send_payment_request(world: TelecomWorld, customer_id: str, bill_id: str) -> str:
    """Ask a customer to pay a bill, which then awaits payment. It is not checked whether the bill is due.

    Args:
        customer_id: Id of the customer.
        bill_id: Id of the customer's bill.
    """
    bills = world.tables["bills"]
    waiting = [
        key
        for key in world.customer(customer_id)["bill_ids"]
        if key in bills and bills[key]["status"] == "Awaiting Payment"
    ]
    if waiting:
        raise ToolError("A bill is already awaiting payment for this customer")
    world.bill_of(customer_id, bill_id)
    bills.edit(bill_id)["status"] = "Awaiting Payment"
    return f"Payment request sent to the customer for bill {bill_id}"


@tool("write")
def enable_roaming(world: TelecomWorld, customer_id: str, line_id: str) -> str:
    """Allow a line to use data abroad.

    Args:
        customer_id: Id of the customer.
        line_id: Id of the customer's line.
    """
    return _set_roaming(world, customer_id, line_id, True)


@tool("write")
def disable_roaming(world: TelecomWorld, customer_id: str, line_id: str) -> str:
    """Forbid a line to use data abroad.

    Args:
        customer_id: Id of the customer.
        line_id: Id of the customer's line.
    """
    return _set_roaming(world, customer_id, line_id, False)


@tool("write")
def refuel_data(world: TelecomWorld, customer_id: str, line_id: str, gb_amount: float) -> dict[str, Any]:
    """Add data to a line for the current cycle, charged on the next bill at the price of its plan.

    Args:
        customer_id: Id of the customer.
        line_id: Id of the customer's line.
        gb_amount: Data to add, in GB.
    """
    line = world.line_of(customer_id, line_id)
    gb_amount = float(gb_amount)  # 2 and 2.0 are one amount, and one text on the bill
    if gb_amount <= 0:
        raise ToolError("Refuel amount must be positive", argument="gb_amount")
    price = world.found("plans", line["plan_id"], "Plan")["data_refueling_price_per_gb"]
    charge, added_gb = gb_amount * price, line["data_refueling_gb"] + gb_amount
    draft = _draft_of(world, customer_id)
    due = 0.0 if draft is None else world.tables["bills"][draft]["total_due"]
    if not all(map(math.isfinite, (charge, added_gb, due + charge))):
        raise ToolError("Refuel amount is too large", argument="gb_amount")
    line = world.tables["lines"].edit(line_id)
    line["data_refueling_gb"] = added_gb
    _charge(world, customer_id, charge, f"Data refueling: {gb_amount} GB at ${price}/GB")
    return {
        "message": f"Successfully added {gb_amount} GB of data for line {line_id} for ${charge:.2f}",
        "new_data_refueling_gb": str(line["data_refueling_gb"]),
        "charge": str(charge),
    }


def _set_roaming(world: TelecomWorld, customer_id: str, line_id: str, enabled: bool) -> str:
    word = "enabled" if enabled else "disabled"
    if world.line_of(customer_id, line_id)["roaming_enabled"] == enabled:
        return f"Roaming was already {word}"
    world.tables["lines"].edit(line_id)["roaming_enabled"] = enabled
    return f"Roaming {word} successfully"


def _charge(world: TelecomWorld, customer_id: str, amount: float, description: str) -> None:
    """Add a charge to the customer's draft bill; without one, to a new one of the next month."""
    bills = world.tables["bills"]
    draft = _draft_of(world, customer_id)
    if draft is None:
        draft = _new_bill_id(world, customer_id)
        bills.add(draft, _draft(draft, customer_id))
        world.tables["customers"].edit(customer_id)["bill_ids"].append(draft)
    bill = bills.edit(draft)
    bill["line_items"].append(
        {"description": description, "amount": amount, "date": TODAY, "item_type": "Charge"}
    )
    bill["total_due"] += amount


def _draft_of(world: TelecomWorld, customer_id: str) -> str | None:
    """Id of the customer's draft bill."""
    bills = world.tables["bills"]
    listed = [key for key in world.customer(customer_id)["bill_ids"] if key in bills]
    return next((key for key in listed if bills[key]["status"] == "Draft"), None)


def _draft(bill_id: str, customer_id: str) -> Row:
    start, end, due = NEXT_MONTH
    return {
        "bill_id": bill_id,
        "customer_id": customer_id,
        "period_start": start,
        "period_end": end,
        "issue_date": start,
        "total_due": 0.0,
        "due_date": due,
        "line_items": [],
        "status": "Draft",
    }


def _new_bill_id(world: TelecomWorld, customer_id: str) -> str:
    """An id that depends on the episode's seed, and that no bill has."""
    world.has_seeded_ids = True
    for number in range(1000):
        digest = hashlib.sha256(f"{world.seed}/{customer_id}/{number}".encode()).hexdigest()
        bill_id = f"B{int(digest[:12], 16) % 10**8:08d}"
        if bill_id not in world.tables["bills"]:
            return bill_id
    raise RuntimeError("no bill id is left")


WRITES = (suspend_line, resume_line, send_payment_request, enable_roaming, disable_roaming, refuel_data)
