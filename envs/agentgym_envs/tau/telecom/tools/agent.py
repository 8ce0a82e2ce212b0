"""Tools of the agent that read, and the transfer to a human."""

from typing import Annotated, Any

from pydantic import Field

from agentgym_envs.tau.telecom.world import MONTH_END, TelecomWorld
from agentgym_envs.tooluse import ToolError, tool
from agentgym_envs.tooluse.tables import Row

_TABLES = {
    "L": ("lines", "Line"),
    "D": ("devices", "Device"),
    "B": ("bills", "Bill"),
    "C": ("customers", "Customer"),
    "P": ("plans", "Plan"),
}


@tool("read")
def get_customer_by_phone(world: TelecomWorld, phone_number: str) -> dict[str, Any]:
    """Find the customer who has a phone number, as the primary one or on a line.

    Args:
        phone_number: Phone number, such as 555-010-0199.
    """
    customers, lines = world.tables["customers"], world.tables["lines"]
    for key in customers:
        customer = customers[key]
        numbers = [lines[line]["phone_number"] for line in customer["line_ids"] if line in lines]
        if phone_number in (customer["phone_number"], *numbers):
            return customer
    raise ToolError(f"Customer with phone number {phone_number[:80]} not found")


@tool("read")
def get_customer_by_id(world: TelecomWorld, customer_id: str) -> dict[str, Any]:
    """Show a customer: identity, address, payment methods, lines and bills.

    Args:
        customer_id: Id of the customer, such as C1234.
    """
    return world.customer(customer_id)


@tool("read")
def get_customer_by_name(world: TelecomWorld, full_name: str, dob: str) -> list[dict[str, Any]]:
    """Find customers by their full name and date of birth, which verifies them.

    Args:
        full_name: First and last name; case does not matter.
        dob: Date of birth, YYYY-MM-DD.
    """
    customers = world.tables["customers"]
    return [
        customers[key]
        for key in customers
        if customers[key]["full_name"].lower() == full_name.lower() and customers[key]["date_of_birth"] == dob
    ]


@tool("read", name="get_details_by_id")
def get_details_by_id(world: TelecomWorld, id: str) -> dict[str, Any]:  # noqa: A002 - the argument's name
    """Show a line, device, bill, customer or plan by its id.

    Args:
        id: Id that begins with L (line), D (device), B (bill), C (customer) or P (plan).
    """
    if id[:1] not in _TABLES:
        raise ToolError(f"Unknown ID format or type: {id[:80]}")
    table, what = _TABLES[id[0]]
    return world.found(table, id, what)


@tool("read")
def get_bills_for_customer(
    world: TelecomWorld, customer_id: str, limit: Annotated[int, Field(ge=1)] = 12
) -> list[dict[str, Any]]:
    """List the bills of a customer, the newest first.

    Args:
        customer_id: Id of the customer.
        limit: How many at most.
    """
    bills = world.tables["bills"]
    found: list[Row] = [bills[key] for key in world.customer(customer_id)["bill_ids"] if key in bills]
    return sorted(found, key=lambda bill: str(bill["issue_date"]), reverse=True)[:limit]


@tool("read")
def get_data_usage(world: TelecomWorld, customer_id: str, line_id: str) -> dict[str, Any]:
    """Show the data that a line has used in the current cycle, its plan's limit, and data that was added.

    Args:
        customer_id: Id of the customer.
        line_id: Id of the customer's line.
    """
    line = world.line_of(customer_id, line_id)
    plan = world.found("plans", line["plan_id"], "Plan")
    return {
        "line_id": line_id,
        "data_used_gb": str(line["data_used_gb"]),
        "data_limit_gb": str(plan["data_limit_gb"]),
        "data_refueling_gb": str(line["data_refueling_gb"]),
        "cycle_end_date": MONTH_END,
    }


@tool("generic")
def transfer_to_human_agents(world: TelecomWorld, summary: str) -> str:  # noqa: ARG001 - a tool's state
    """Hand the customer over to a human agent: only where the issue is beyond what your tools can do.

    Args:
        summary: Summary of the customer's issue.
    """
    return "Transfer successful"


READS = (
    get_customer_by_phone,
    get_customer_by_id,
    get_customer_by_name,
    get_details_by_id,
    get_bills_for_customer,
    get_data_usage,
)
