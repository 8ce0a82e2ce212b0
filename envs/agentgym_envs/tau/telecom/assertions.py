"""Assertions about the final state of telecom."""

from collections.abc import Callable, Mapping

from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.tasks import Assertion
from agentgym_envs.tau.telecom.network import EXCELLENT, can_send_mms, mobile_data_works, speed_of
from agentgym_envs.tau.telecom.world import TelecomWorld

Predicate = Callable[..., bool]
TOLERANCE_GB = 1e-6


def holds(world: TelecomWorld, assertion: Assertion) -> bool:
    """The value of an assertion's function; the state is synchronised after it, as after every call.

    Raises `TauDataError` for an unknown function or arguments.
    """
    predicates = AGENT_PREDICATES if assertion.side == "assistant" else PHONE_PREDICATES
    predicate = predicates.get(assertion.function)
    if predicate is None:
        raise TauDataError(f"telecom has no assertion {assertion.function!r}")
    try:
        found = predicate(world, **assertion.arguments)
    except TypeError as cause:
        raise TauDataError(f"the assertion {assertion.function}: {cause}") from cause
    world.synchronise()
    return found


def data_refueling_amount(
    world: TelecomWorld, customer_id: str, line_id: str, expected_amount: float
) -> bool:
    """True if this much data was added to a line, in GB."""
    added = world.line_of(customer_id, line_id)["data_refueling_gb"]
    return abs(added - expected_amount) < TOLERANCE_GB


def line_status(world: TelecomWorld, customer_id: str, line_id: str, expected_status: str) -> bool:
    """True if a line has this status."""
    return world.line_of(customer_id, line_id)["status"] == expected_status


def overdue_bill_exists(world: TelecomWorld, customer_id: str, overdue_bill_id: str) -> bool:
    """True if a customer has this bill, and it is overdue."""
    if overdue_bill_id not in world.customer(customer_id)["bill_ids"]:
        return False
    return world.found("bills", overdue_bill_id, "Bill")["status"] == "Overdue"


def no_overdue_bill(world: TelecomWorld, overdue_bill_id: str) -> bool:
    """True if there is no such bill, or it is paid."""
    bills = world.tables["bills"]
    return overdue_bill_id not in bills or bills[overdue_bill_id]["status"] == "Paid"


def internet_speed(world: TelecomWorld, expected_speed: float, expected_desc: str | None = None) -> bool:
    """True if the speed is at least this, in Mbit/s, and of this level; no connection has the speed 0."""
    speed, level = speed_of(world.phone, world.around) or (0.0, "No Connection")
    return speed >= expected_speed and (expected_desc is None or level.lower() == expected_desc.lower())


def internet_not_excellent(world: TelecomWorld) -> bool:
    """True if the speed is below the highest level."""
    found = speed_of(world.phone, world.around)
    return found is None or found[1] != EXCELLENT


AGENT_PREDICATES: Mapping[str, Predicate] = {
    "assert_data_refueling_amount": data_refueling_amount,
    "assert_line_status": line_status,
    "assert_overdue_bill_exists": overdue_bill_exists,
    "assert_no_overdue_bill": no_overdue_bill,
}
"""Assertions about the company's side by name."""


def _equals(value: Callable[[TelecomWorld], object]) -> Predicate:
    """True if a value of the state is the expected one."""

    def holds_for(world: TelecomWorld, expected_status: object) -> bool:
        return value(world) == expected_status

    return holds_for


PHONE_PREDICATES: Mapping[str, Predicate] = {
    "assert_airplane_mode_status": _equals(lambda world: world.phone.airplane_mode),
    "assert_service_status": _equals(lambda world: world.phone.network_connection_status),
    "assert_mobile_data_status": _equals(lambda world: mobile_data_works(world.phone, world.around)),
    "assert_mobile_roaming_status": _equals(lambda world: world.phone.roaming_enabled),
    "assert_mobile_data_saver_mode_status": _equals(lambda world: world.phone.data_saver_mode),
    "assert_internet_speed": internet_speed,
    "assert_internet_not_excellent": internet_not_excellent,
    "assert_can_send_mms": _equals(lambda world: can_send_mms(world.phone, world.around)),
    "assert_mobile_data_usage_exceeded": _equals(lambda world: world.around.mobile_data_usage_exceeded),
}
"""Assertions about the phone by name."""
