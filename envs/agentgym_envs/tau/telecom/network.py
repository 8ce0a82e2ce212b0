"""Cellular network: search for service, and what follows from its result."""

from agentgym_envs.tau.telecom.phone import NO_TECHNOLOGY, Phone, Surroundings

SPEEDS_MBPS = {"2G": (0.1, 0.4), "3G": (1.0, 5.0), "4G": (10.0, 100.0), "5G": (50.0, 500.0)}
SIGNAL_FACTORS = {"poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
BAD_VPN_FACTOR = 0.1
DATA_SAVER_FACTOR = 0.2
LEVELS_MBPS = ((1.0, "Very Poor"), (5.0, "Poor"), (25.0, "Fair"), (100.0, "Good"))
"""Upper bounds of the levels of speed, in Mbit/s; from the last on it is `EXCELLENT`."""
EXCELLENT = "Excellent"

_ONLY = {"4g_only": "4G", "3g_only": "3G", "2g_only": "2G"}


def search(phone: Phone, around: Surroundings) -> None:
    """Search for service, and connect the phone as far as it can be."""
    technology = _technology(phone, around)
    if (
        phone.sim_card_missing
        or phone.sim_card_status != "active"
        or phone.airplane_mode
        or phone.apn["apn_name"] == "broken"
        or not around.line_active
    ):
        phone.network_connection_status = "no_service"
        phone.network_technology_connected = NO_TECHNOLOGY
        phone.network_signal_strength = "none"
        return
    phone.network_connection_status = "connected"
    phone.network_technology_connected = technology
    phone.network_signal_strength = around.signal_strength.get(technology, "none")


def _technology(phone: Phone, around: Surroundings) -> str:
    """The technology that the phone's preference selects."""
    only = _ONLY.get(phone.network_mode_preference)
    if only is not None:
        return only
    return "5G" if around.signal_strength.get("5G", "none") != "none" else "4G"


def mobile_data_works(phone: Phone, around: Surroundings) -> bool:
    """True if the phone can use mobile data."""
    return (
        not phone.airplane_mode
        and phone.network_signal_strength != "none"
        and phone.network_connection_status != "no_service"
        and (not around.is_abroad or (phone.roaming_enabled and around.roaming_allowed))
        and phone.data_enabled
        and not around.mobile_data_usage_exceeded
    )


def speed_of(phone: Phone, around: Surroundings) -> tuple[float, str] | None:
    """Speed in Mbit/s and its level; None without a connection."""
    bounds = SPEEDS_MBPS.get(phone.network_technology_connected)
    if bounds is None or not mobile_data_works(phone, around):
        return None
    factor = SIGNAL_FACTORS.get(phone.network_signal_strength, 0.0)
    if phone.vpn_connected and phone.vpn["server_performance"] == "poor":
        factor *= BAD_VPN_FACTOR
    if phone.data_saver_mode:
        factor *= DATA_SAVER_FACTOR
    speed = round(sum(bounds) / 2 * factor, 2)
    return speed, next((level for bound, level in LEVELS_MBPS if speed < bound), EXCELLENT)


def can_send_mms(phone: Phone, around: Surroundings) -> bool:
    """True if the messaging app can send a picture."""
    permissions = phone.apps.get("messaging", {})
    return (
        mobile_data_works(phone, around)
        and phone.network_technology_connected != "2G"
        and not (phone.wifi_calling_enabled and phone.wifi_calling_mms_over_wifi)
        and bool(phone.apn["mmsc_url"])
        and permissions.get("storage", False)
        and permissions.get("sms", False)
    )
