"""Player of telecom with an agent's view: looks at what the ticket is about, and fixes what it sees.

It reads the ticket and the texts of tools. With `care` below 1 it leaves out each look with probability
1 - care, and so misses faults.
"""

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any, Literal

from agentgym_envs.tau.telecom.world import TODAY
from agentgym_envs.tooluse.tables import Row

Call = Callable[..., str]
"""Calls a tool by name and arguments; returns its text."""
Issue = Literal["service_issue", "mobile_data_issue", "mms_issue"]

MOST_REFUELLED_GB = 2.0
_PHONE_NUMBER = re.compile(r"\d{3}-\d{3}-\d{4}")


class HandOver(Exception):
    """The player found what it cannot fix."""


class Searcher:
    """Player of one ticket; `call` executes a tool and returns what the agent sees."""

    def __init__(self, ticket: str, call: Call, draw: Random, care: float = 1.0) -> None:
        self._ticket = ticket
        self._call = call
        self._draw = draw
        self._care = care
        self._line: Row = {}
        self._customer_id = ""

    def play(self) -> None:
        """Work on the ticket to its end."""
        issue = issue_of(self._ticket)
        try:
            self._find_line()
            self._restore_service(issue)
            if issue != "service_issue":
                self._in_any_order(self._check_data, self._check_roaming, self._check_usage, self._check_mode)
            if issue == "mobile_data_issue":
                self._in_any_order(self._check_saver, self._check_vpn)
                self._call("run_speed_test")
            if issue == "mms_issue":
                self._in_any_order(self._check_wifi_calling, self._check_mms_address, self._check_permissions)
                self._call("can_send_mms")
            if issue == "service_issue":
                self._call("check_status_bar")
        except HandOver as reason:
            self._call("transfer_to_human_agents", summary=str(reason))
        self._call("done")

    def _in_any_order(self, *checks: Callable[[], None]) -> None:
        for check in self._draw.sample(checks, len(checks)):
            self._perhaps(check)

    def _perhaps(self, check: Callable[[], None]) -> None:
        if self._draw.random() < self._care:
            check()

    def _find_line(self) -> None:
        number = _PHONE_NUMBER.search(self._ticket)
        if number is None:
            raise HandOver("The ticket has no phone number.")
        customer = _read(self._call("get_customer_by_phone", phone_number=number.group()))
        self._customer_id = str(customer.get("customer_id", ""))
        for line_id in customer.get("line_ids", ()):
            self._line = _read(self._call("get_details_by_id", id=line_id))
            if self._line.get("phone_number") == number.group():
                return
        raise HandOver("No line has the phone number of the ticket.")

    def _restore_service(self, issue: Issue) -> None:
        status = self._call("check_network_status")
        if "Airplane Mode: ON" in status:
            self._call("toggle_airplane_mode")
        if issue != "mobile_data_issue":
            self._perhaps(self._check_sim)
        if issue == "service_issue":
            self._perhaps(self._check_line)
            self._perhaps(self._check_apn)

    def _check_sim(self) -> None:
        seen = self._call("check_sim_status")
        if "No SIM card" in seen:
            self._call("reseat_sim_card")
            seen = self._call("check_sim_status")
        if "locked" in seen:
            raise HandOver("The SIM card is locked.")

    def _check_line(self) -> None:
        if self._line["status"] != "Suspended":
            return
        if str(self._line["contract_end_date"]) < TODAY:
            raise HandOver("The contract of the line has ended.")
        owner = self._owner()
        bills = json.loads(self._call("get_bills_for_customer", customer_id=self._customer_id))
        for bill in bills:
            if bill["status"] == "Overdue":
                self._call("send_payment_request", customer_id=self._customer_id, bill_id=bill["bill_id"])
                self._call("check_payment_request")
                self._call("make_payment")
        self._call("resume_line", **owner)
        self._call("reboot_device")

    def _check_apn(self) -> None:
        if "APN Name: broken" in self._call("check_apn_settings"):
            self._call("reset_apn_settings")
            self._call("reboot_device")

    def _check_data(self) -> None:
        if "Mobile Data Enabled: No" in self._call("check_network_status"):
            self._call("toggle_data")

    def _check_roaming(self) -> None:
        if "abroad" not in self._ticket:
            return
        if not self._line["roaming_enabled"]:
            self._call("enable_roaming", **self._owner())
        if "Data Roaming Enabled: No" in self._call("check_network_status"):
            self._call("toggle_roaming")

    def _check_usage(self) -> None:
        usage = _read(self._call("get_data_usage", **self._owner()))
        added = float(usage["data_refueling_gb"])
        if float(usage["data_used_gb"]) < float(usage["data_limit_gb"]) + added:
            return
        if added >= MOST_REFUELLED_GB:
            raise HandOver("The line has used all data, and no more can be added.")
        self._call("refuel_data", **self._owner(), gb_amount=MOST_REFUELLED_GB)

    def _check_mode(self) -> None:
        if "4g_5g_preferred" not in self._call("check_network_mode_preference"):
            self._call("set_network_mode_preference", mode="4g_5g_preferred")

    def _check_saver(self) -> None:
        if "ON" in self._call("check_data_restriction_status"):
            self._call("toggle_data_saver_mode")

    def _check_vpn(self) -> None:
        if "poor" in self._call("check_vpn_status"):
            self._call("disconnect_vpn")

    def _check_wifi_calling(self) -> None:
        if "turned ON" in self._call("check_wifi_calling_status"):
            self._call("toggle_wifi_calling")

    def _check_mms_address(self) -> None:
        if "Not Set" in self._call("check_apn_settings"):
            self._call("reset_apn_settings")
            self._call("reboot_device")

    def _check_permissions(self) -> None:
        seen = self._call("check_app_permissions", app_name="messaging")
        for permission in ("sms", "storage"):
            if permission not in seen:
                self._call("grant_app_permission", app_name="messaging", permission=permission)

    def _owner(self) -> dict[str, Any]:
        return {"customer_id": self._customer_id, "line_id": self._line["line_id"]}


def issue_of(ticket: str) -> Issue:
    """Issue that a ticket is about."""
    if "MMS" in ticket:
        return "mms_issue"
    return "mobile_data_issue" if re.search(r"mobile data|[Ww]eb pages", ticket) else "service_issue"


def _read(text: str) -> Row:
    """The object of a tool's text; empty for an error."""
    return json.loads(text) if text.startswith("{") else {}
