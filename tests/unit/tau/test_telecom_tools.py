"""The tools of telecom: their texts and effects, on the invented company."""

import json

import pytest
from support.tau import call, texts

from agentgym_envs.tau.tasks import Invocation, TauTask
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.telecom.builtin.company import company, subscribers
from agentgym_envs.tau.telecom.network import speed_of
from agentgym_envs.tau.telecom.phone import Phone
from agentgym_envs.tau.telecom.setup import invoke
from agentgym_envs.tau.telecom.tools import AGENT_TOOLS, PHONE_TOOLS, SOLO_TOOLS
from agentgym_envs.tau.telecom.world import TelecomWorld
from agentgym_envs.tooluse import ToolError

WHO = subscribers()[0]


def world() -> TelecomWorld:
    """A phone without faults, of the first customer."""
    found = TelecomWorld(company(), Phone(), seed=0)
    invoke(
        found,
        Invocation(
            side="user",
            function="set_user_info",
            arguments={"name": WHO.name, "phone_number": WHO.phone_number},
        ),
    )
    return found


def used(state: TelecomWorld, name: str, /, **arguments: object) -> object:
    """The result of a tool, synchronised as in an episode."""
    found = SOLO_TOOLS[name].run(state, **arguments)
    state.synchronise()
    return found


def set_up(state: TelecomWorld, side: str, function: str, /, **arguments: object) -> None:
    invoke(state, Invocation.model_validate({"side": side, "function": function, "arguments": arguments}))


def test_the_agent_has_13_tools_and_the_phone_30_others() -> None:
    assert (len(AGENT_TOOLS), len(PHONE_TOOLS), len(SOLO_TOOLS)) == (13, 30, 44)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("check_status_bar", "Status Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔋 80%"),
        ("run_speed_test", "Speed Test Result: 220.00 Mbps (Excellent). Connection is very fast."),
        ("check_sim_status", "Your SIM card is active and working."),
        ("check_network_mode_preference", "Network Mode Preference: 4g_5g_preferred"),
        ("check_data_restriction_status", "Data Saver mode is OFF."),
        ("check_wifi_status", "Wi-Fi is turned OFF."),
        ("check_wifi_calling_status", "Wi-Fi Calling is currently turned OFF."),
        ("check_vpn_status", "VPN is turned OFF."),
        ("check_installed_apps", "The following apps are installed on the phone: messaging, browser"),
        ("can_send_mms", "Your messaging app can send MMS messages."),
        ("check_payment_request", "No payment request has been made."),
        ("make_payment", "You do not have a payment request."),
        (
            "disconnect_vpn",
            "No active VPN connection to disconnect.\nStatus Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔋 80%",
        ),
        (
            "toggle_airplane_mode",
            "Airplane Mode is now ON.\nStatus Bar: ✈️ Airplane Mode | 🔋 80%",
        ),
        (
            "toggle_data",
            "Mobile Data is now OFF.\nStatus Bar: 📶⁴ Excellent | 5G | 📵 Data Disabled | 🔋 80%",
        ),
        (
            "toggle_data_saver_mode",
            "Data Saver Mode is now ON.\n"
            "Status Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔽 Data Saver | 🔋 80%",
        ),
        (
            "connect_vpn",
            "VPN connected successfully.\n"
            "Status Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔒 VPN Connected | 🔋 80%",
        ),
        (
            "toggle_wifi",
            "Wi-Fi is now ON.\nStatus Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔋 80%",
        ),
    ],
)
def test_what_a_phone_without_faults_says(name: str, text: str) -> None:
    assert used(world(), name) == text


@pytest.mark.parametrize(("ssid", "sign"), [("Home", "📡 Connected to Home"), (None, "📡 Enabled")])
def test_the_status_bar_shows_wifi_once_it_is_connected(ssid: str | None, sign: str) -> None:
    state = world()
    state.phone.wifi_enabled, state.phone.wifi_connected, state.phone.wifi_ssid = True, True, ssid
    assert used(state, "check_status_bar") == (
        f"Status Bar: 📶³ Good | 5G | 📱 Data Enabled | {sign} | 🔋 80%"
    )


def test_what_is_refused_has_the_status_bar_and_a_vpn_that_is_connected_has_none() -> None:
    state = world()
    assert used(state, "set_network_mode_preference", mode="6g") == (
        "Failed to set network mode: '6g' is not a valid option."
        " Please use one of: 4g_5g_preferred, 4g_only, 3g_only, 2g_only\n"
        "Status Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔋 80%"
    )
    used(state, "connect_vpn")
    assert used(state, "connect_vpn") == "VPN already connected."
    used(state, "toggle_airplane_mode")
    assert used(state, "toggle_wifi") == (
        "Cannot change Wi-Fi settings while Airplane Mode is ON.\nStatus Bar: ✈️ Airplane Mode | 🔋 80%"
    )


@pytest.mark.parametrize(
    ("function", "switch", "before", "after"),
    [
        ("turn_roaming_on", "roaming_enabled", True, True),
        ("turn_roaming_on", "roaming_enabled", False, True),
        ("turn_roaming_off", "roaming_enabled", False, False),
        ("turn_roaming_off", "roaming_enabled", True, False),
        ("turn_data_off", "data_enabled", False, False),
        ("turn_data_off", "data_enabled", True, False),
    ],
)
def test_switches_of_the_set_up_search_for_service_also_where_nothing_changes(
    function: str, switch: str, before: bool, after: bool
) -> None:
    state = world()
    setattr(state.phone, switch, before)
    assert state.phone.network_signal_strength == "good"  # after a search it is excellent
    set_up(state, "user", function)
    assert (getattr(state.phone, switch), state.phone.network_signal_strength) == (after, "excellent")


def test_the_network_status_has_a_line_a_fact() -> None:
    assert str(used(world(), "check_network_status")).split("\n") == [
        "Airplane Mode: OFF",
        "SIM Card Status: active",
        "Cellular Connection: connected",
        "Cellular Signal: good",
        "Cellular Network Type: 5G",
        "Mobile Data Enabled: Yes",
        "Data Roaming Enabled: No",
        "Wi-Fi Radio: OFF",
        "Wi-Fi Connected: No",
    ]


def test_app_permissions_are_told_and_granted() -> None:
    state = world()
    set_up(state, "user", "remove_app_permission", app_name="messaging", permission="sms")
    assert used(state, "check_app_permissions", app_name="messaging") == (
        "App 'messaging' has permission for: storage, phone."
    )
    assert used(state, "can_send_mms") == "Your messaging app cannot send MMS messages."
    granted = used(state, "grant_app_permission", app_name="messaging", permission="SMS")
    assert str(granted).startswith("Success. Permission 'sms' granted to app 'messaging'.\nStatus Bar: ")
    assert used(state, "check_app_status", app_name="messaging") == (
        "Status for App: messaging\n - Permissions Granted:\n   - sms\n   - storage\n   - phone"
    )
    assert used(state, "grant_app_permission", app_name="messaging", permission="camera") == (
        "Error. Permission 'camera' not tracked for app 'messaging',"
        " available permissions: ['sms', 'storage', 'phone', 'network']\n"
        "Status Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔋 80%"
    )
    assert used(state, "grant_app_permission", app_name="maps", permission="sms") == (
        "Error. App 'maps' not found. Cannot grant permission.\n"
        "Status Bar: 📶³ Good | 5G | 📱 Data Enabled | 🔋 80%"
    )
    assert used(state, "check_app_status", app_name="maps") == "App 'maps' not found on this phone."


def test_an_apn_is_reset_at_the_next_reboot_only() -> None:
    state = world()
    set_up(state, "user", "break_apn_settings")
    assert state.phone.network_connection_status == "no_service"
    assert str(used(state, "reset_apn_settings")).startswith("APN settings will reset at reboot.\n")
    assert state.phone.apn["apn_name"] == "broken"
    assert str(used(state, "reboot_device")).split("\n")[:2] == [
        "Resetting APN settings...",
        "Restarting network services...",
    ]
    assert (state.phone.apn["apn_name"], state.phone.network_connection_status) == ("internet", "connected")


def test_a_locked_sim_card_stays_locked_when_it_is_seated_again() -> None:
    state = world()
    set_up(state, "user", "lock_sim_card", mode="pin")
    set_up(state, "user", "unseat_sim_card")
    assert used(state, "check_sim_status") == "No SIM card detected in the phone."
    used(state, "reseat_sim_card")
    assert used(state, "check_sim_status") == "The SIM card is locked with a PIN code."
    assert state.phone.network_connection_status == "no_service"


# 5G has 50 to 500 Mbit/s, in the mean 275; after a search the signal is excellent, which is the factor 1.
# With a slow VPN 275 * 0.1 = 27.5 (Good), with the data saver too 275 * 0.1 * 0.2 = 5.5 (Fair).
def test_speeds_follow_from_network_vpn_and_data_saver() -> None:
    state = world()
    used(state, "reboot_device")
    assert speed_of(state.phone, state.around) == (275.0, "Excellent")
    set_up(state, "user", "break_vpn")
    assert speed_of(state.phone, state.around) == (27.5, "Good")
    used(state, "toggle_data_saver_mode")
    assert speed_of(state.phone, state.around) == (5.5, "Fair")
    used(state, "set_network_mode_preference", mode="2g_only")
    assert speed_of(state.phone, state.around) == (0.0, "Very Poor")  # 0.25 * 0.2 * 0.02 = 0.001


def test_a_slow_vpn_is_slow_after_a_reconnect_and_not_in_another_episode() -> None:
    state = world()
    set_up(state, "user", "break_vpn")
    used(state, "disconnect_vpn")
    used(state, "connect_vpn")
    assert "'server_performance': 'poor'" in str(used(state, "check_vpn_status"))
    other = world()
    used(other, "connect_vpn")
    assert used(other, "check_vpn_status") == (
        "VPN is ON and connected. Details: {'server_address': '192.168.1.1', 'protocol': 'OpenVPN',"
        " 'server_performance': 'excellent'}"
    )


def test_a_paid_bill_is_paid_at_the_company_and_a_resumed_line_needs_a_search() -> None:
    state = world()
    owner = WHO.owner
    arguments = {**owner, "new_bill_id": "B9", "contract_ended": False}
    set_up(state, "assistant", "suspend_line_for_overdue_bill", **arguments)
    set_up(state, "user", "simulate_network_search")
    assert state.phone.network_connection_status == "no_service"
    used(state, "send_payment_request", customer_id=owner["customer_id"], bill_id="B9")
    price = state.tables["bills"]["B9"]["total_due"]
    assert used(state, "check_payment_request") == f"You have a payment request for bill B9 of {price} USD."
    assert used(state, "make_payment") == f"Payment of {price} USD has been made for bill B9."
    assert (state.tables["bills"]["B9"]["status"], state.around.payment_request) == ("Paid", None)
    used(state, "resume_line", **owner)
    assert (state.around.line_active, state.phone.network_connection_status) == (True, "no_service")
    used(state, "reboot_device")
    assert state.phone.network_connection_status == "connected"


def test_added_data_is_charged_on_a_draft_bill() -> None:
    state = world()
    state.tables["customers"].edit(WHO.customer_id)["bill_ids"] = []
    plan = state.tables["plans"][state.tables["lines"][WHO.line_id]["plan_id"]]
    charge = 2.0 * plan["data_refueling_price_per_gb"]
    told = used(state, "refuel_data", **WHO.owner, gb_amount=2.0)
    assert told == {
        "message": f"Successfully added 2.0 GB of data for line {WHO.line_id} for ${charge:.2f}",
        "new_data_refueling_gb": "2.0",
        "charge": str(charge),
    }
    (bill_id,) = state.tables["customers"][WHO.customer_id]["bill_ids"]
    bill = state.tables["bills"][bill_id]
    assert (bill["status"], bill["issue_date"], bill["due_date"]) == ("Draft", "2025-03-01", "2025-03-15")
    assert (bill["total_due"], bill["line_items"][0]["item_type"]) == (charge, "Charge")


def test_equal_amounts_of_data_leave_equal_bills() -> None:
    whole, decimal = world(), world()
    told = used(whole, "refuel_data", **WHO.owner, gb_amount=2)
    assert told == used(decimal, "refuel_data", **WHO.owner, gb_amount=2.0)
    assert whole.changes() == decimal.changes() != {}


@pytest.mark.parametrize("amount", [1e308, float("inf"), float("nan")])
def test_amounts_of_data_beyond_numbers_are_refused(amount: float) -> None:
    state = world()
    plan_id = state.tables["lines"][WHO.line_id]["plan_id"]
    state.tables["plans"].edit(plan_id)["data_refueling_price_per_gb"] = 2.0
    before = repr(state.changes())
    with pytest.raises(ToolError, match="Refuel amount is too large"):
        used(state, "refuel_data", **WHO.owner, gb_amount=amount)
    assert repr(state.changes()) == before


def test_charges_that_add_up_beyond_numbers_are_refused() -> None:
    state = world()
    plan_id = state.tables["lines"][WHO.line_id]["plan_id"]
    state.tables["plans"].edit(plan_id)["data_refueling_price_per_gb"] = 1.0
    used(state, "refuel_data", **WHO.owner, gb_amount=1e308)
    before = repr(state.changes())
    with pytest.raises(ToolError, match="Refuel amount is too large"):
        used(state, "refuel_data", **WHO.owner, gb_amount=1e308)
    assert repr(state.changes()) == before
    json.dumps(state.changes(), allow_nan=False)


def of_first_customer(environment: TauTelecom) -> TauTask:
    """A task of the first customer whose line is active."""
    tasks = environment.tasks("train")
    return next(one for one in tasks if WHO.phone_number in one.instruction and one.kind == "mms_issue")


def errors() -> dict[str, str]:
    """Action to the error that it is answered with."""
    owner = WHO.owner
    return {
        call("get_customer_by_phone", phone_number="1"): "Customer with phone number 1 not found",
        call("get_customer_by_id", customer_id="C0"): "Customer with ID C0 not found",
        call("get_details_by_id", id="L0"): "Line with ID L0 not found",
        call("get_details_by_id", id="P0"): "Plan with ID P0 not found",
        call("get_details_by_id", id="X1"): "Unknown ID format or type: X1",
        call("suspend_line", **{**owner, "line_id": "L0"}, reason="-"): (
            f"Line L0 not found for customer {WHO.customer_id}"
        ),
        call("resume_line", **owner): "Line must be suspended to resume",
        call("send_payment_request", customer_id=WHO.customer_id, bill_id="B0"): (
            f"Bill B0 not found for customer {WHO.customer_id}"
        ),
        call("refuel_data", **owner, gb_amount=0): "Refuel amount must be positive",
        call("no_such_tool"): "Tool 'no_such_tool' not found.",
    }


def test_errors_are_observations_and_change_nothing() -> None:
    environment = TauTelecom()
    task = of_first_customer(environment)
    environment.reset(task, 0)
    before = environment.net_change()
    told = texts(environment, task, list(errors()))
    assert told == [f"Error: {message}" for message in errors().values()]
    assert environment.net_change() == before


def test_records_are_json_with_numbers_and_own_records_have_texts() -> None:
    environment = TauTelecom()
    task = of_first_customer(environment)
    actions = [call("get_data_usage", **WHO.owner), call("get_details_by_id", id=WHO.line_id)]
    usage, line = map(json.loads, texts(environment, task, actions))
    assert list(usage) == [
        *("line_id", "data_used_gb", "data_limit_gb", "data_refueling_gb", "cycle_end_date"),
    ]
    assert (usage["data_used_gb"], usage["cycle_end_date"]) == (str(line["data_used_gb"]), "2025-02-28")
    assert (type(line["data_used_gb"]), line["suspension_start_date"]) == (float, None)
