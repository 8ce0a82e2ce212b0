"""Set-up functions of telecom, by which a task's faults are made; the agent cannot call them."""

from collections.abc import Callable, Mapping

from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.tasks import Invocation
from agentgym_envs.tau.telecom.tools import AGENT_TOOLS, PHONE_TOOLS
from agentgym_envs.tau.telecom.tools.phone_writes import toggle_airplane_mode
from agentgym_envs.tau.telecom.world import TODAY, TelecomWorld
from agentgym_envs.tooluse import CallError, ToolError

Function = Callable[..., object]

LAST_MONTH = ("2025-01-01", "2025-01-31", "2025-01-15")
"""Start, end and due date of the overdue bill, which was issued on its first day."""


def invoke(world: TelecomWorld, invocation: Invocation) -> None:
    """Execute a set-up call, then synchronise. Raises `TauDataError` for one that fails."""
    functions = AGENT_FUNCTIONS if invocation.side == "assistant" else PHONE_FUNCTIONS
    function = functions.get(invocation.function)
    if function is None:
        raise TauDataError(f"telecom has no set-up function {invocation.function!r}")
    try:
        function(world, **invocation.arguments)
    except (CallError, TypeError, KeyError) as cause:
        raise TauDataError(f"the set-up {invocation.function} fails: {cause}") from cause
    world.synchronise()


def set_data_usage(world: TelecomWorld, customer_id: str, line_id: str, data_used_gb: float) -> None:
    """Set the data that a line has used."""
    world.line_of(customer_id, line_id)
    world.tables["lines"].edit(line_id)["data_used_gb"] = data_used_gb


def suspend_line_for_overdue_bill(
    world: TelecomWorld, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
) -> None:
    """Suspend a line for a bill of last month that was not paid, and let its contract end if asked to."""
    line = world.line_of(customer_id, line_id)
    if line["status"] != "Active":
        raise ToolError("Line must be active to suspend for unpaid bill")
    bills, owned = world.tables["bills"], world.customer(customer_id)["bill_ids"]
    if any(bills[key]["status"] == "Overdue" for key in owned if key in bills):
        raise ToolError("Customer already has an overdue bill")
    amount = world.found("plans", line["plan_id"], "Plan")["price_per_month"]
    start, end, due = LAST_MONTH
    bills.add(
        new_bill_id,
        {
            "bill_id": new_bill_id,
            "customer_id": customer_id,
            "period_start": start,
            "period_end": end,
            "issue_date": start,
            "total_due": amount,
            "due_date": due,
            "line_items": [
                {
                    "description": f"Charge for line {line_id}",
                    "amount": amount,
                    "date": TODAY,
                    "item_type": "Charge",
                }
            ],
            "status": "Overdue",
        },
    )
    world.tables["customers"].edit(customer_id)["bill_ids"].append(new_bill_id)
    own = world.tables["lines"].edit(line_id)
    own["status"], own["suspension_start_date"] = "Suspended", TODAY
    if contract_ended:
        own["contract_end_date"] = end


def set_user_info(world: TelecomWorld, name: str, phone_number: str) -> None:
    """Say who holds the phone."""
    world.around.name, world.around.phone_number = name, phone_number


def set_user_location(world: TelecomWorld, abroad: bool) -> None:
    """Say if the phone is abroad."""
    world.around.is_abroad = abroad


def turn_airplane_mode(world: TelecomWorld, on: bool) -> None:
    """Set airplane mode, with what goes along."""
    if world.phone.airplane_mode != on:
        toggle_airplane_mode.run(world)


def turn_data_on(world: TelecomWorld) -> None:
    """Set the mobile data switch; the phone does not search."""
    world.phone.data_enabled = True


def turn_data_off(world: TelecomWorld) -> None:
    """Turn mobile data off; the phone searches for service, also where it was off."""
    world.phone.data_enabled = False
    world.search_network()


def turn_roaming(world: TelecomWorld, on: bool) -> None:
    """Set data roaming; the phone searches for service, also where nothing changes."""
    world.phone.roaming_enabled = on
    world.search_network()


def turn_data_saver_mode(world: TelecomWorld, on: bool) -> None:
    """Set the data saver."""
    world.phone.data_saver_mode = on


def unseat_sim_card(world: TelecomWorld) -> None:
    """Take the SIM card out."""
    world.phone.sim_card_missing = True
    world.search_network()


def lock_sim_card(world: TelecomWorld, mode: str) -> None:
    """Lock the SIM card by `pin` or `puk`."""
    if mode not in ("pin", "puk"):
        raise ToolError(f"a SIM card is locked by pin or puk, not {mode!r}")
    world.phone.sim_card_status = f"locked_{mode}"
    world.search_network()


def break_apn_settings(world: TelecomWorld) -> None:
    """Give the access point a name without a network."""
    world.phone.apn["apn_name"] = "broken"
    world.search_network()


def break_apn_mms_setting(world: TelecomWorld) -> None:
    """Remove the address for picture messages."""
    world.phone.apn["mmsc_url"] = None


def set_wifi_calling(world: TelecomWorld, enabled: bool, mms_over_wifi: bool | None = None) -> None:
    """Set Wi-Fi calling, and if pictures go over it."""
    world.phone.wifi_calling_enabled = enabled
    if mms_over_wifi is not None:
        world.phone.wifi_calling_mms_over_wifi = mms_over_wifi


def break_vpn(world: TelecomWorld) -> None:
    """Connect a VPN whose server is slow, also for later connections."""
    world.phone.vpn_connected = True
    world.phone.vpn["server_performance"] = "poor"


def remove_app_permission(world: TelecomWorld, app_name: str, permission: str) -> None:
    """Take a permission from an app."""
    permissions = world.phone.apps[app_name]
    if permission not in permissions:
        raise ToolError(f"the app {app_name!r} has no permission {permission!r}")
    permissions[permission] = False


def _set_to(function: Callable[[TelecomWorld, bool], None], on: bool) -> Function:
    def call(world: TelecomWorld) -> None:
        function(world, on)

    return call


AGENT_FUNCTIONS: Mapping[str, Function] = {
    **{name: tool.run for name, tool in AGENT_TOOLS.items()},
    "set_data_usage": set_data_usage,
    "suspend_line_for_overdue_bill": suspend_line_for_overdue_bill,
}
"""Set-up functions of the company's side by name; its tools can be used too."""
PHONE_FUNCTIONS: Mapping[str, Function] = {
    **{name: tool.run for name, tool in PHONE_TOOLS.items()},
    "set_user_info": set_user_info,
    "set_user_location": set_user_location,
    "turn_airplane_mode_on": _set_to(turn_airplane_mode, True),
    "turn_airplane_mode_off": _set_to(turn_airplane_mode, False),
    "turn_data_on": turn_data_on,
    "turn_data_off": turn_data_off,
    "turn_roaming_on": _set_to(turn_roaming, True),
    "turn_roaming_off": _set_to(turn_roaming, False),
    "turn_data_saver_mode_on": _set_to(turn_data_saver_mode, True),
    "turn_data_saver_mode_off": _set_to(turn_data_saver_mode, False),
    "unseat_sim_card": unseat_sim_card,
    "lock_sim_card": lock_sim_card,
    "break_apn_settings": break_apn_settings,
    "break_apn_mms_setting": break_apn_mms_setting,
    "set_wifi_calling": set_wifi_calling,
    "break_vpn": break_vpn,
    "remove_app_permission": remove_app_permission,
    "simulate_network_search": TelecomWorld.search_network,
}
"""Set-up functions of the phone by name; its tools can be used too."""
