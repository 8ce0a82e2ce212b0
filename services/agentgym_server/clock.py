"""Clock of the server: leases are measured on a monotonic clock and shown as RFC 3339."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache


class Clock:
    """Monotonic clock that converts its readings to dates. `now` is injected by tests; seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._epoch = time.time() - now()

    def stamp(self, moment: float) -> str:
        """A reading of `now` as RFC 3339, UTC, rounded down to whole seconds."""
        return _stamp(int(self._epoch + moment))


@lru_cache(maxsize=4096)
def _stamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
