"""Tools of the phone that change its settings. Those that search for service say so by `_searched`."""

from typing import Any, Literal

from pydantic import ConfigDict
from typing_extensions import TypedDict

from agentgym_envs.tau.telecom.phone import APN_DEFAULTS, MODES
from agentgym_envs.tau.telecom.tools.phone_reads import status_bar
from agentgym_envs.tau.telecom.world import TelecomWorld
from agentgym_envs.tooluse import tool


class ApnSettings(TypedDict, total=False):
    """Access point settings; what is left out has its default."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # pyright: ignore[reportGeneralTypeIssues] - pydantic's way

    apn_name: Literal["internet", "broken"]
    reset_at_reboot: bool
    mms_apn: str | None
    mmsc_url: str | None
    mms_proxy: str | None
    mms_port: int | None


@tool("write")
def set_network_mode_preference(world: TelecomWorld, mode: str) -> str:
    """Set the network type that the phone prefers.

    Args:
        mode: One of 4g_5g_preferred, 4g_only, 3g_only, 2g_only.
    """
    if mode not in MODES:
        text = f"Failed to set network mode: '{mode[:80]}' is not a valid option."
        return _with_bar(world, f"{text} Please use one of: {', '.join(MODES)}")
    world.phone.network_mode_preference = mode
    return _searched(world, f"Preferred Network Mode set to: {mode}")


@tool("write")
def toggle_airplane_mode(world: TelecomWorld) -> str:
    """Turn airplane mode on or off. It drops the Wi-Fi connection and, turned on, the VPN."""
    phone = world.phone
    phone.airplane_mode = not phone.airplane_mode
    if phone.airplane_mode:
        phone.vpn_connected = False
    if phone.airplane_mode or phone.wifi_enabled:
        _drop_wifi(world)
    return _searched(world, f"Airplane Mode is now {_on(phone.airplane_mode)}.")


@tool("write")
def reseat_sim_card(world: TelecomWorld) -> str:
    """Take the SIM card out and put it in again."""
    world.phone.sim_card_missing = False
    return _searched(world, "SIM card re-seated successfully.")


@tool("write")
def toggle_data(world: TelecomWorld) -> str:
    """Turn mobile data on or off."""
    world.phone.data_enabled = not world.phone.data_enabled
    return _searched(world, f"Mobile Data is now {_on(world.phone.data_enabled)}.")


@tool("write")
def toggle_roaming(world: TelecomWorld) -> str:
    """Turn data roaming on or off on the phone."""
    world.phone.roaming_enabled = not world.phone.roaming_enabled
    return _searched(world, f"Data Roaming is now {_on(world.phone.roaming_enabled)}.")


@tool("write")
def toggle_data_saver_mode(world: TelecomWorld) -> str:
    """Turn the data saver on or off."""
    world.phone.data_saver_mode = not world.phone.data_saver_mode
    return _with_bar(world, f"Data Saver Mode is now {_on(world.phone.data_saver_mode)}.")


@tool("write")
def set_apn_settings(world: TelecomWorld, apn_settings: ApnSettings) -> str:
    """Replace the access point settings.

    Args:
        apn_settings: The new settings; what is left out has its default.
    """
    given: dict[str, Any] = dict(apn_settings)
    world.phone.apn = {**APN_DEFAULTS, **given}
    return _searched(world, f"APN settings set to: {world.phone.apn['apn_name']}")


@tool("write")
def reset_apn_settings(world: TelecomWorld) -> str:
    """Have the access point settings reset at the next reboot."""
    world.phone.apn["reset_at_reboot"] = True
    return _searched(world, "APN settings will reset at reboot.")


@tool("write")
def toggle_wifi(world: TelecomWorld) -> str:
    """Turn Wi-Fi on or off."""
    phone = world.phone
    if phone.airplane_mode:
        return _with_bar(world, "Cannot change Wi-Fi settings while Airplane Mode is ON.")
    phone.wifi_enabled = not phone.wifi_enabled
    if not phone.wifi_enabled:
        _drop_wifi(world)
    return _with_bar(world, f"Wi-Fi is now {_on(phone.wifi_enabled)}.")


@tool("write")
def toggle_wifi_calling(world: TelecomWorld) -> str:
    """Turn Wi-Fi calling on or off."""
    world.phone.wifi_calling_enabled = not world.phone.wifi_calling_enabled
    return _with_bar(world, f"Wi-Fi Calling is now {_on(world.phone.wifi_calling_enabled)}.")


@tool("write")
def connect_vpn(world: TelecomWorld) -> str:
    """Connect the VPN."""
    if world.phone.vpn_connected:
        return "VPN already connected."
    world.phone.vpn_connected = True
    return _with_bar(world, "VPN connected successfully.")


@tool("write")
def disconnect_vpn(world: TelecomWorld) -> str:
    """Disconnect the VPN."""
    if not world.phone.vpn_connected:
        return _with_bar(world, "No active VPN connection to disconnect.")
    world.phone.vpn_connected = False
    return _with_bar(world, "VPN disconnected successfully.")


@tool("write")
def grant_app_permission(world: TelecomWorld, app_name: str, permission: str) -> str:
    """Grant a permission to an app.

    Args:
        app_name: Name of the app, such as messaging.
        permission: One of sms, storage, phone, network.
    """
    wanted = permission.lower()
    permissions = world.phone.apps.get(app_name)
    if permissions is None:
        return _with_bar(world, f"Error. App '{app_name[:80]}' not found. Cannot grant permission.")
    if wanted not in permissions:
        text = f"Error. Permission '{wanted[:80]}' not tracked for app '{app_name}',"
        return _with_bar(world, f"{text} available permissions: {list(permissions)}")
    permissions[wanted] = True
    return _with_bar(world, f"Success. Permission '{wanted}' granted to app '{app_name}'.")


@tool("write")
def reboot_device(world: TelecomWorld) -> str:
    """Restart the phone."""
    lines = list[str]()
    if world.phone.apn["reset_at_reboot"]:
        world.phone.apn = dict(APN_DEFAULTS)
        lines.append("Resetting APN settings...")
    return _searched(world, "\n".join([*lines, "Restarting network services..."]))


@tool("write")
def make_payment(world: TelecomWorld) -> str:
    """Pay the bill of the payment request that waits on the phone."""
    request = world.around.payment_request
    if request is None:
        return "You do not have a payment request."
    request["paid"] = True
    return f"Payment of {request['amount_due']} USD has been made for bill {request['bill_id']}."


def _searched(world: TelecomWorld, text: str) -> str:
    """The text after a search for service, with the status bar."""
    world.search_network()
    return _with_bar(world, text)


def _with_bar(world: TelecomWorld, text: str) -> str:
    return f"{text}\nStatus Bar: {status_bar(world.phone)}"


def _drop_wifi(world: TelecomWorld) -> None:
    world.phone.wifi_connected, world.phone.wifi_ssid = False, None
    world.phone.wifi_signal_strength = "none"


def _on(value: bool) -> str:
    return "ON" if value else "OFF"


WRITES = (
    set_network_mode_preference,
    toggle_airplane_mode,
    reseat_sim_card,
    toggle_data,
    toggle_roaming,
    toggle_data_saver_mode,
    set_apn_settings,
    reset_apn_settings,
    toggle_wifi,
    toggle_wifi_calling,
    connect_vpn,
    disconnect_vpn,
    grant_app_permission,
    reboot_device,
    make_payment,
)
