"""Retries of requests: which failures are worth another attempt, and the pause before it."""

import random
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
"""Pauses between attempts, each twice the one before, less a random part of up to a half."""
LONGEST_ASKED_S = 60.0
"""The longest pause that an endpoint may ask for."""


class Unanswered(Exception):
    """A request without a usable HTTP answer."""

    def __init__(self, reason: str, *, again: bool, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.again = again
        """Whether another attempt may succeed."""
        self.wait_s = wait_s
        """The pause that the endpoint asks for, in seconds."""


def may_succeed(status: int) -> bool:
    """True for HTTP statuses that another attempt may not have: time-outs, rate limits, server errors."""
    return status in (408, 409, 429) or status >= 500


def asked_for(headers: Mapping[str, str]) -> float | None:
    """The pause of a `Retry-After` header in seconds, given as seconds or as a date; None without one."""
    given = headers.get("retry-after", "").strip()
    if given.isascii() and given.isdecimal():
        return min(float(given), LONGEST_ASKED_S)
    try:
        date = parsedate_to_datetime(given)
    except ValueError:
        return None
    if date.tzinfo is None:
        return None
    return min(max((date - datetime.now(UTC)).total_seconds(), 0.0), LONGEST_ASKED_S)


def pause_s(attempt: int) -> float:
    """Seconds to wait after the attempt of this number, from 0."""
    return min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)
