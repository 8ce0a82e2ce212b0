"""The fixed clock of all episodes, and arithmetic on its texts."""

from datetime import datetime, timedelta

NOW = "2026-03-02T09:00"
"""A Monday."""
TODAY = NOW[:10]
TIME_ZONE = "UTC"


def day(offset: int, start: str = TODAY) -> str:
    """The date `offset` days after another one."""
    return (datetime.fromisoformat(start) + timedelta(days=offset)).date().isoformat()


def later(time: str, minutes: int) -> str:
    """The time `minutes` after another one."""
    return (datetime.fromisoformat(time) + timedelta(minutes=minutes)).isoformat()[:16]


def minutes_between(start: str, end: str) -> int:
    """Minutes from one time to another; negative if the other is earlier."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)) // timedelta(minutes=1)


def weekday(date: str) -> str:
    """Name of the day of the week."""
    return datetime.fromisoformat(date).strftime("%A")


def is_time(text: str) -> bool:
    """True for `YYYY-MM-DDTHH:MM`."""
    return len(text) == 16 and text[10] == "T" and _is_iso(text)


def is_date(text: str) -> bool:
    """True for `YYYY-MM-DD`."""
    return len(text) == 10 and _is_iso(text)


def _is_iso(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).isoformat().startswith(text)
    except ValueError:
        return False
