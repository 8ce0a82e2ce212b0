"""State of an episode of telecom: `TelecomWorld`, the company's tables, a phone and its surroundings."""

from collections.abc import Mapping

from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.telecom.network import search
from agentgym_envs.tau.telecom.phone import Phone, Surroundings
from agentgym_envs.tau.world import World
from agentgym_envs.tooluse import ToolError
from agentgym_envs.tooluse.tables import Row

TODAY = "2025-02-25"
NOW = "2025-02-25T12:08:00"
MONTH_END = "2025-02-28"
"""Last day of the current billing cycle."""

COLUMNS: dict[str, tuple[str, ...]] = {
    "plans": ("plan_id", "name", "data_limit_gb", "price_per_month", "data_refueling_price_per_gb"),
    "devices": (
        *("device_id", "device_type", "model", "imei", "is_esim_capable", "activated"),
        *("activation_date", "last_esim_transfer_date"),
    ),
    "lines": (
        *("line_id", "phone_number", "status", "plan_id", "device_id", "data_used_gb", "data_refueling_gb"),
        *("roaming_enabled", "contract_end_date", "last_plan_change_date", "last_sim_replacement_date"),
        "suspension_start_date",
    ),
    "bills": (
        *("bill_id", "customer_id", "period_start", "period_end", "issue_date", "total_due", "due_date"),
        *("line_items", "status"),
    ),
    "customers": (
        *("customer_id", "full_name", "date_of_birth", "email", "phone_number", "address", "account_status"),
        *("payment_methods", "line_ids", "bill_ids", "created_at", "last_extension_date"),
        "goodwill_credit_used_this_year",
    ),
}
"""Columns of each table, in the order in which a row is told."""


def completed(tables: Mapping[str, Mapping[str, Row]]) -> dict[str, dict[str, Row]]:
    """Tables whose rows have all columns, in their order; None where a row has no value."""
    return {
        name: {key: {**dict.fromkeys(columns), **row} for key, row in tables.get(name, {}).items()}
        for name, columns in COLUMNS.items()
    }


class TelecomWorld(World):
    """Tables, and the phone of the customer who calls."""

    def __init__(self, domain: Domain, phone: Phone, seed: int = 0) -> None:
        super().__init__(domain.tables)
        self.seed = seed
        self.phone = phone
        self.around = Surroundings()
        self._own: tuple[str, str, str] | None = None
        """Number of the phone, and ids of its line and their owner, once they were looked up."""

    def search_network(self) -> None:
        """Let the phone search for service."""
        search(self.phone, self.around)

    def customer(self, customer_id: str) -> Row:
        """A customer's row, to be read; raises `ToolError`."""
        return self.found("customers", customer_id, "Customer")

    def found(self, table: str, key: str, what: str) -> Row:
        """A row, to be read; raises `ToolError` if there is none."""
        rows = self.tables[table]
        if key not in rows:
            raise ToolError(f"{what} with ID {key[:80]} not found")
        return rows[key]

    def line_of(self, customer_id: str, line_id: str) -> Row:
        """A customer's line, to be read; raises `ToolError` if it is not the customer's."""
        if line_id not in self.customer(customer_id)["line_ids"]:
            raise ToolError(f"Line {line_id[:80]} not found for customer {customer_id[:80]}")
        return self.found("lines", line_id, "Line")

    def bill_of(self, customer_id: str, bill_id: str) -> Row:
        """A customer's bill, to be read; raises `ToolError` if it is not the customer's."""
        if bill_id not in self.customer(customer_id)["bill_ids"]:
            raise ToolError(f"Bill {bill_id[:80]} not found for customer {customer_id[:80]}")
        return self.found("bills", bill_id, "Bill")

    def synchronise(self) -> None:
        """Tell the phone what changed at the company, and the company what the phone paid.

        It does not search for service: a line that was resumed has some after the phone searches.
        """
        number = self.around.phone_number
        if number is None:
            return
        if self._own is None or self._own[0] != number:
            self._own = self._look_up(number)
        _, line_id, owner_id = self._own
        if not line_id:
            return
        line = self.tables["lines"][line_id]
        plan = self.tables["plans"][line["plan_id"]]
        self.around.line_active = line["status"] == "Active"
        self.around.roaming_allowed = line["roaming_enabled"]
        allowance_gb = plan["data_limit_gb"] + line["data_refueling_gb"]
        self.around.mobile_data_usage_exceeded = line["data_used_gb"] >= allowance_gb
        if owner_id:
            self._settle_request(owner_id)

    @property
    def own_line_id(self) -> str:
        """Id of the line of the phone; '' if it has none."""
        return self._own[1] if self._own is not None else ""

    def _look_up(self, number: str) -> tuple[str, str, str]:
        """The number, its line and their owner, '' where there is none: no tool changes them."""
        lines, customers = self.tables["lines"], self.tables["customers"]
        line_id = next((key for key in lines if lines[key]["phone_number"] == number), "")
        owner = next((key for key in customers if line_id in customers[key]["line_ids"]), "")
        return number, line_id, owner

    def _settle_request(self, customer_id: str) -> None:
        request, bills = self.around.payment_request, self.tables["bills"]
        if request is not None and request["paid"]:
            bills.edit(request["bill_id"])["status"] = "Paid"
            self.around.payment_request = None
        if self.around.payment_request is None:
            for bill_id in self.tables["customers"][customer_id]["bill_ids"]:
                if bill_id in bills and bills[bill_id]["status"] == "Awaiting Payment":
                    due = bills[bill_id]["total_due"]
                    self.around.payment_request = {"bill_id": bill_id, "amount_due": due, "paid": False}
                    return

    def user_changes(self) -> object:
        return self.phone, self.around

    def copy(self, seed: int | None = None) -> "TelecomWorld":
        """As `World.copy`; `seed` is that of the copy's episode, None for the same one."""
        other = super().copy()
        if not isinstance(other, TelecomWorld):  # a copy has the class of its original
            raise TypeError("the copy of another state")
        other.phone, other.around = self.phone.copy(), self.around.copy()
        other.seed = self.seed if seed is None else seed
        return other
