"""Tools of the phone that show its state."""

from agentgym_envs.tau.telecom.network import EXCELLENT, can_send_mms, speed_of
from agentgym_envs.tau.telecom.phone import NO_TECHNOLOGY, Phone
from agentgym_envs.tau.telecom.world import TelecomWorld
from agentgym_envs.tooluse import tool

SIGNS = {
    "none": "📵 No Signal",
    "poor": "📶¹ Poor",
    "fair": "📶² Fair",
    "good": "📶³ Good",
    "excellent": "📶⁴ Excellent",
}
ADVICE = {
    "Very Poor": "Connection is very slow: most applications will not work.",
    "Poor": "Connection is slow: pages may take long to load.",
    "Fair": "Connection is sufficient for browsing and messages.",
    "Good": "Connection is good for most applications.",
    EXCELLENT: "Connection is very fast.",
}
_SIM = {
    "active": "Your SIM card is active and working.",
    "locked_pin": "The SIM card is locked with a PIN code.",
    "locked_puk": "The SIM card is locked with a PUK code.",
}


def status_bar(phone: Phone) -> str:
    """The signs at the top of the screen."""
    parts = ["✈️ Airplane Mode"] if phone.airplane_mode else _cellular_signs(phone)
    if phone.wifi_connected:
        parts.append(f"📡 Connected to {phone.wifi_ssid}" if phone.wifi_ssid else "📡 Enabled")
    if phone.vpn_connected:
        parts.append("🔒 VPN Connected")
    return " | ".join([*parts, f"🔋 {phone.battery_level}%"])


def _cellular_signs(phone: Phone) -> list[str]:
    technology = phone.network_technology_connected
    parts = [SIGNS[phone.network_signal_strength]]
    if technology != NO_TECHNOLOGY:
        parts.append(technology)
    if phone.data_enabled and technology != NO_TECHNOLOGY:
        return [*parts, "📱 Data Enabled", *(["🔽 Data Saver"] if phone.data_saver_mode else [])]
    return [*parts, "📵 Data Disabled"]


@tool("read")
def check_status_bar(world: TelecomWorld) -> str:
    """Show the signs in the phone's status bar: signal, network type, data, Wi-Fi, VPN, battery."""
    return f"Status Bar: {status_bar(world.phone)}"


@tool("read")
def check_network_status(world: TelecomWorld) -> str:
    """Show the phone's cellular and Wi-Fi connections, and if data and roaming are on."""
    phone = world.phone
    lines = [
        f"Airplane Mode: {_on(phone.airplane_mode)}",
        f"SIM Card Status: {'missing' if phone.sim_card_missing else phone.sim_card_status}",
        f"Cellular Connection: {phone.network_connection_status}",
        f"Cellular Signal: {phone.network_signal_strength}",
        f"Cellular Network Type: {phone.network_technology_connected}",
        f"Mobile Data Enabled: {_yes(phone.data_enabled)}",
        f"Data Roaming Enabled: {_yes(phone.roaming_enabled)}",
        f"Wi-Fi Radio: {_on(phone.wifi_enabled)}",
        f"Wi-Fi Connected: {_yes(phone.wifi_connected)}",
    ]
    if phone.wifi_connected:
        lines.append(f"Connected Wi-Fi Network: {phone.wifi_ssid}")
    return "\n".join(lines)


@tool("read")
def check_network_mode_preference(world: TelecomWorld) -> str:
    """Show the network type that the phone prefers."""
    return f"Network Mode Preference: {world.phone.network_mode_preference}"


@tool("read")
def run_speed_test(world: TelecomWorld) -> str:
    """Measure the speed of the mobile data connection."""
    found = speed_of(world.phone, world.around)
    if found is None:
        return "Speed test failed: No Connection."
    speed, level = found
    return f"Speed Test Result: {speed:.2f} Mbps ({level}). {ADVICE[level]}"


@tool("read")
def check_sim_status(world: TelecomWorld) -> str:
    """Show if the SIM card is in the phone, working or locked."""
    if world.phone.sim_card_missing:
        return "No SIM card detected in the phone."
    return _SIM[world.phone.sim_card_status]


@tool("read")
def check_data_restriction_status(world: TelecomWorld) -> str:
    """Show if the data saver, which limits data usage, is on."""
    if world.phone.data_saver_mode:
        return "Data Saver mode is ON (limits data usage)."
    return "Data Saver mode is OFF."


@tool("read")
def check_apn_settings(world: TelecomWorld) -> str:
    """Show the access point settings, by which the phone reaches the network and sends pictures."""
    apn = world.phone.apn
    return (
        f"Current APN Name: {apn['apn_name']}\n"
        f"MMSC URL (for picture messages): {apn['mmsc_url'] or 'Not Set'}\n"
        "(These are technical settings for the carrier's network.)"
    )


@tool("read")
def check_wifi_status(world: TelecomWorld) -> str:
    """Show if Wi-Fi is on and connected."""
    phone = world.phone
    if not phone.wifi_enabled:
        return "Wi-Fi is turned OFF."
    if not phone.wifi_connected:
        return "Wi-Fi is ON but not connected to any network."
    return f"Wi-Fi is ON and connected to '{phone.wifi_ssid}'. Signal strength: {phone.wifi_signal_strength}."


@tool("read")
def check_wifi_calling_status(world: TelecomWorld) -> str:
    """Show if Wi-Fi calling is on."""
    return f"Wi-Fi Calling is currently turned {_on(world.phone.wifi_calling_enabled)}."


@tool("read")
def check_vpn_status(world: TelecomWorld) -> str:
    """Show if a VPN is connected, and the details of the connection."""
    phone = world.phone
    if phone.vpn_connected:
        return f"VPN is ON and connected. Details: {phone.vpn}"
    if phone.vpn_enabled_setting:
        return "VPN is turned ON in settings, but currently not connected."
    return "VPN is turned OFF."


@tool("read")
def check_installed_apps(world: TelecomWorld) -> str:
    """List the apps on the phone."""
    return f"The following apps are installed on the phone: {', '.join(world.phone.apps)}"


@tool("read")
def check_app_status(world: TelecomWorld, app_name: str) -> str:
    """Show an app's status and its permissions.

    Args:
        app_name: Name of the app, such as messaging.
    """
    permissions = world.phone.apps.get(app_name)
    if permissions is None:
        return f"App '{app_name[:80]}' not found on this phone."
    granted = [name for name, is_granted in permissions.items() if is_granted]
    title = f"Status for App: {app_name}"
    if not granted:
        return f"{title}\n - Permissions: None granted."
    return "\n".join([title, " - Permissions Granted:", *(f"   - {name}" for name in granted)])


@tool("read")
def check_app_permissions(world: TelecomWorld, app_name: str) -> str:
    """Show the permissions that an app has.

    Args:
        app_name: Name of the app, such as messaging.
    """
    permissions = world.phone.apps.get(app_name)
    if permissions is None:
        return f"App '{app_name[:80]}' not found on this phone."
    granted = [name for name, is_granted in permissions.items() if is_granted]
    if not granted:
        return f"App '{app_name}' currently has no permissions granted."
    return f"App '{app_name}' has permission for: {', '.join(granted)}."


@tool("read", name="can_send_mms")
def check_mms(world: TelecomWorld) -> str:
    """Try if the messaging app can send a picture message."""
    word = "can" if can_send_mms(world.phone, world.around) else "cannot"
    return f"Your messaging app {word} send MMS messages."


@tool("read")
def check_payment_request(world: TelecomWorld) -> str:
    """Show the payment request that waits on the phone, if there is one."""
    request = world.around.payment_request
    if request is None:
        return "No payment request has been made."
    return f"You have a payment request for bill {request['bill_id']} of {request['amount_due']} USD."


def _on(value: bool) -> str:
    return "ON" if value else "OFF"


def _yes(value: bool) -> str:
    return "Yes" if value else "No"


READS = (
    check_status_bar,
    check_network_status,
    check_network_mode_preference,
    run_speed_test,
    check_sim_status,
    check_data_restriction_status,
    check_apn_settings,
    check_wifi_status,
    check_wifi_calling_status,
    check_vpn_status,
    check_installed_apps,
    check_app_status,
    check_app_permissions,
    check_mms,
    check_payment_request,
)
