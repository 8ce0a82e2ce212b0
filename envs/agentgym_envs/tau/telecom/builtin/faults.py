"""Faults of telecom, and the tasks that combine them: set-up, fix, and what has to hold at the end.

> combined("service_issue", ("airplane_mode_on",), Subscriber(...)).gold
(Action(name='toggle_airplane_mode'),)

The faults, their set-ups and fixes are those of tau2-bench's published task generator.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from agentgym_envs.tau.tasks import Action, Assertion, Invocation

REFUEL_GB = 2.0
"""Data that a customer is willing to add."""
FAILING_SUMMARY = "I cannot fix the issue."
TRANSFER = "transfer_to_human_agents"


@dataclass(frozen=True)
class Subscriber:
    """The customer of a task, and the line of the phone."""

    customer_id: str
    line_id: str
    name: str
    phone_number: str
    data_limit_gb: float
    data_refueling_gb: float
    bill_id: str
    """Id of the overdue bill that a fault makes."""

    @property
    def owner(self) -> dict[str, Any]:
        """Arguments of the calls about the line."""
        return {"customer_id": self.customer_id, "line_id": self.line_id}


@dataclass(frozen=True)
class Fault:
    """Fault of a phone or a line."""

    setup: Callable[[Subscriber], Sequence[Invocation]]
    fix: Callable[[Subscriber], Sequence[Action]] | None = None
    """None if the agent cannot fix it."""


class Combination(NamedTuple):
    """Parts of a task that combines faults."""

    setup: tuple[Invocation, ...]
    gold: tuple[Action, ...]
    assertions: tuple[Assertion, ...]
    is_transfer: bool
    """True if the only right end is a transfer to a human."""


def _phone(function: str, **arguments: Any) -> Invocation:
    return Invocation(side="user", function=function, arguments=arguments)


def _company(function: str, **arguments: Any) -> Invocation:
    return Invocation(side="assistant", function=function, arguments=arguments)


def _simple(setup: Sequence[Invocation], *fix: Action) -> Fault:
    """A fault of the phone alone."""
    return Fault(lambda _: setup, (lambda _: fix) if fix else None)


def _suspension(contract_ended: bool) -> Callable[[Subscriber], Sequence[Invocation]]:
    return lambda who: (
        _company(
            "suspend_line_for_overdue_bill",
            **who.owner,
            new_bill_id=who.bill_id,
            contract_ended=contract_ended,
        ),
        _phone("simulate_network_search"),
    )


def _abroad(phone_on: bool, line_on: bool) -> Callable[[Subscriber], Sequence[Invocation]]:
    """Abroad, with roaming on or off on the phone and on the line."""
    return lambda who: (
        _phone("set_user_location", abroad=True),
        _phone("turn_roaming_on" if phone_on else "turn_roaming_off"),
        _company("enable_roaming" if line_on else "disable_roaming", **who.owner),
        *(() if line_on else (_phone("simulate_network_search"),)),
    )


def _enable_roaming(who: Subscriber) -> Action:
    return Action(name="enable_roaming", arguments=who.owner)


def _usage(who: Subscriber, over_gb: float) -> Invocation:
    used = round(who.data_limit_gb + who.data_refueling_gb + over_gb, 2)
    return _company("set_data_usage", **who.owner, data_used_gb=used)


def _without(*permissions: str) -> Fault:
    return _simple(
        [_phone("remove_app_permission", app_name="messaging", permission=one) for one in permissions],
        *(
            Action(name="grant_app_permission", arguments={"app_name": "messaging", "permission": one})
            for one in permissions
        ),
    )


_RESET_APN = (Action(name="reset_apn_settings"), Action(name="reboot_device"))

FAULTS: dict[str, Fault] = {
    "airplane_mode_on": _simple([_phone("turn_airplane_mode_on")], Action(name="toggle_airplane_mode")),
    "unseat_sim_card": _simple([_phone("unseat_sim_card")], Action(name="reseat_sim_card")),
    "lock_sim_card_pin": _simple([_phone("lock_sim_card", mode="pin")]),
    "break_apn_settings": _simple([_phone("break_apn_settings")], *_RESET_APN),
    "overdue_bill_suspension": Fault(
        _suspension(contract_ended=False),
        lambda who: (
            Action(
                name="send_payment_request",
                arguments={"customer_id": who.customer_id, "bill_id": who.bill_id},
            ),
            Action(name="make_payment"),
            Action(name="resume_line", arguments=who.owner),
            Action(name="reboot_device"),
        ),
    ),
    "contract_end_suspension": Fault(_suspension(contract_ended=True)),
    "user_abroad_roaming_enabled_off": Fault(
        _abroad(phone_on=False, line_on=True), lambda _: (Action(name="toggle_roaming"),)
    ),
    "user_abroad_roaming_disabled_on": Fault(
        _abroad(phone_on=True, line_on=False), lambda who: (_enable_roaming(who),)
    ),
    "user_abroad_roaming_disabled_off": Fault(
        _abroad(phone_on=False, line_on=False),
        lambda who: (_enable_roaming(who), Action(name="toggle_roaming")),
    ),
    "data_mode_off": _simple([_phone("turn_data_off")], Action(name="toggle_data")),
    "data_saver_mode_on": _simple([_phone("turn_data_saver_mode_on")], Action(name="toggle_data_saver_mode")),
    "bad_network_preference": _simple(
        [_phone("set_network_mode_preference", mode="2g_only")],
        Action(name="set_network_mode_preference", arguments={"mode": "4g_5g_preferred"}),
    ),
    "bad_vpn": _simple([_phone("break_vpn")], Action(name="disconnect_vpn")),
    "data_usage_exceeded": Fault(
        lambda who: (_usage(who, 0.1),),
        lambda who: (Action(name="refuel_data", arguments={**who.owner, "gb_amount": REFUEL_GB}),),
    ),
    "data_usage_exceeded_no_refuel": Fault(
        lambda who: (
            _company("refuel_data", **who.owner, gb_amount=REFUEL_GB),
            _usage(who, REFUEL_GB + 0.1),
        )
    ),
    "bad_wifi_calling": _simple(
        [_phone("set_wifi_calling", enabled=True, mms_over_wifi=True)], Action(name="toggle_wifi_calling")
    ),
    "break_apn_mms_setting": _simple([_phone("break_apn_mms_setting")], *_RESET_APN),
    "break_app_sms_permission": _without("sms"),
    "break_app_storage_permission": _without("storage"),
    "break_app_both_permissions": _without("sms", "storage"),
}

_AIRPLANE = ("airplane_mode_on",)
_ABROAD = (
    "user_abroad_roaming_enabled_off",
    "user_abroad_roaming_disabled_on",
    "user_abroad_roaming_disabled_off",
)
_USAGE = ("data_usage_exceeded", "data_usage_exceeded_no_refuel")
_PERMISSIONS = (
    "break_app_sms_permission",
    "break_app_storage_permission",
    "break_app_both_permissions",
)

SELECTIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "service_issue": (
        _AIRPLANE,
        ("unseat_sim_card",),
        ("lock_sim_card_pin",),
        ("break_apn_settings",),
        ("overdue_bill_suspension", "contract_end_suspension"),
    ),
    "mobile_data_issue": (
        *(_AIRPLANE, _ABROAD, ("data_mode_off",), ("data_saver_mode_on",)),
        *(("bad_network_preference",), ("bad_vpn",), _USAGE),
    ),
    "mms_issue": (
        *(_AIRPLANE, ("unseat_sim_card",), ("data_mode_off",), _USAGE, _ABROAD),
        *(("bad_network_preference",), ("bad_wifi_calling",), ("break_apn_mms_setting",), _PERMISSIONS),
    ),
}
"""Sets of faults by issue; a task has at most one of each set."""
NEEDED: dict[str, frozenset[str]] = {
    "service_issue": frozenset(one for choices in SELECTIONS["service_issue"] for one in choices),
    "mobile_data_issue": frozenset(one for choices in SELECTIONS["mobile_data_issue"][1:] for one in choices),
    "mms_issue": frozenset(one for choices in SELECTIONS["mms_issue"][-4:] for one in choices),
}
"""Faults of which a task of an issue has at least one."""


def combinations(issue: str) -> Iterator[tuple[str, ...]]:
    """All combinations of faults of an issue, each in the order of names."""
    for chosen in product(*((None, *choices) for choices in SELECTIONS[issue])):
        faults = tuple(sorted(one for one in chosen if one is not None))
        if NEEDED[issue].intersection(faults):
            yield faults


def combined(issue: str, faults: Sequence[str], who: Subscriber) -> Combination:
    """The parts of the task with these faults; raises `KeyError` for an unknown fault or issue."""
    ordered = [FAULTS[name] for name in sorted(faults)]
    user = _phone("set_user_info", name=who.name, phone_number=who.phone_number)
    setup = (user, *(call for fault in ordered for call in fault.setup(who)))
    if any(fault.fix is None for fault in ordered):
        gold = (Action(name=TRANSFER, arguments={"summary": FAILING_SUMMARY}, compared=()),)
        return Combination(setup, gold, _unsolved(issue), is_transfer=True)
    gold = tuple(action for fault in ordered if fault.fix is not None for action in fault.fix(who))
    return Combination(setup, gold, _solved(issue, faults, who), is_transfer=False)


def _solved(issue: str, faults: Sequence[str], who: Subscriber) -> tuple[Assertion, ...]:
    expected: dict[str, tuple[Assertion, ...]] = {
        "service_issue": (
            _assertion("assert_service_status", expected_status="connected"),
            Assertion(
                side="assistant",
                function="assert_no_overdue_bill",
                arguments={"overdue_bill_id": who.bill_id},
            ),
        ),
        "mobile_data_issue": (
            _assertion("assert_mobile_data_status", expected_status=True),
            _assertion("assert_internet_speed", expected_speed=200, expected_desc="excellent"),
        ),
        "mms_issue": (_assertion("assert_can_send_mms", expected_status=True),),
    }
    refuelled = Assertion(
        side="assistant",
        function="assert_data_refueling_amount",
        arguments={**who.owner, "expected_amount": who.data_refueling_gb + REFUEL_GB},
    )
    return (*expected[issue], *((refuelled,) if "data_usage_exceeded" in faults else ()))


def _unsolved(issue: str) -> tuple[Assertion, ...]:
    expected: dict[str, tuple[Assertion, ...]] = {
        "service_issue": (_assertion("assert_service_status", expected_status="no_service"),),
        "mobile_data_issue": (
            _assertion("assert_mobile_data_status", expected_status=False),
            _assertion("assert_internet_speed", expected_speed=0),
        ),
        "mms_issue": (_assertion("assert_can_send_mms", expected_status=False),),
    }
    return expected[issue]


def _assertion(function: str, **arguments: Any) -> Assertion:
    return Assertion(side="user", function=function, arguments=arguments)
