"""The customer's phone and its surroundings: `Phone`, `Surroundings`."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from agentgym_envs.tau.reading import TauDataError

Signal = Literal["none", "poor", "fair", "good", "excellent"]
MODES = ("4g_5g_preferred", "4g_only", "3g_only", "2g_only")
"""Network mode preferences."""
NO_TECHNOLOGY = "none"
APN_DEFAULTS: dict[str, Any] = {
    "apn_name": "internet",
    "reset_at_reboot": False,
    "mms_apn": "mms",
    "mmsc_url": "http://mms.carrier.com/mms/wapenc",
    "mms_proxy": None,
    "mms_port": None,
}
PERMISSIONS = ("sms", "storage", "phone", "network")
VPN_PROFILE = {
    "server_address": "192.168.1.1",
    "protocol": "OpenVPN",
    "server_performance": "excellent",
}


def _apps() -> dict[str, dict[str, bool]]:
    return {
        "messaging": {"sms": True, "storage": True, "phone": True, "network": False},
        "browser": {"sms": False, "storage": True, "phone": False, "network": True},
    }


@dataclass
class Phone:
    """State of the phone; the names are those of the benchmark's file."""

    sim_card_status: str = "active"
    """`active`, `locked_pin` or `locked_puk`."""
    sim_card_missing: bool = False
    airplane_mode: bool = False
    network_signal_strength: str = "good"
    network_technology_connected: str = "5G"
    network_connection_status: str = "connected"
    """`connected`, `searching`, `no_service` or `emergency_only`."""
    battery_level: int = 80
    data_enabled: bool = True
    roaming_enabled: bool = False
    network_mode_preference: str = "4g_5g_preferred"
    wifi_enabled: bool = False
    wifi_connected: bool = False
    wifi_ssid: str | None = None
    wifi_signal_strength: str = "none"
    wifi_calling_enabled: bool = False
    wifi_calling_mms_over_wifi: bool = False
    data_saver_mode: bool = False
    vpn_enabled_setting: bool = False
    vpn_connected: bool = False
    apn: dict[str, Any] = field(default_factory=lambda: dict(APN_DEFAULTS))
    apps: dict[str, dict[str, bool]] = field(default_factory=_apps)
    """Permissions by app."""
    vpn: dict[str, str] = field(default_factory=lambda: dict(VPN_PROFILE))
    """Profile of the VPN: one for the episode, so that a bad server stays bad."""

    @staticmethod
    def of(base: Mapping[str, Any]) -> "Phone":
        """The phone of a benchmark's file; raises `TauDataError` for unknown fields."""
        device: dict[str, Any] = dict(base.get("device", {}))
        apn = {**APN_DEFAULTS, **device.pop("active_apn_settings", {})}
        apps: dict[str, Any] = device.pop("app_statuses", {})
        device.pop("vpn_details", None)
        known = {one.name for one in fields(Phone)}
        if unknown := sorted(device.keys() - known):
            raise TauDataError(f"the phone has the unknown field {unknown[0]!r}")
        phone = Phone(**device, apn=apn)
        if apps:
            phone.apps = {name: dict(app.get("permissions", {})) for name, app in apps.items()}
        return phone

    def copy(self) -> "Phone":
        """A phone that later changes of this one do not change."""
        other = object.__new__(Phone)
        other.__dict__.update(self.__dict__)
        other.apn, other.vpn = dict(self.apn), dict(self.vpn)
        other.apps = {name: dict(permissions) for name, permissions in self.apps.items()}
        return other


@dataclass
class Surroundings:
    """Facts around the phone that it cannot change itself."""

    name: str | None = None
    phone_number: str | None = None
    is_abroad: bool = False
    roaming_allowed: bool = False
    mobile_data_usage_exceeded: bool = False
    line_active: bool = True
    payment_request: dict[str, Any] | None = None
    """`{bill_id, amount_due, paid}`."""
    signal_strength: dict[str, str] = field(
        default_factory=lambda: {"2G": "poor", "3G": "fair", "4G": "good", "5G": "excellent"}
    )

    def copy(self) -> "Surroundings":
        """Surroundings that later changes of these do not change."""
        other = copy(self)
        other.payment_request = None if self.payment_request is None else dict(self.payment_request)
        other.signal_strength = dict(self.signal_strength)
        return other
