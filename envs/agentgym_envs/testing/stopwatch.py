"""Time that a thread's work takes on a machine with other work: what it waits for a core does not count."""

import time
from pathlib import Path

_SCHEDULING = Path("/proc/thread-self/schedstat")


class Stopwatch:
    """Seconds since its construction in the same thread, less those in which the thread waited for a core."""

    def __init__(self) -> None:
        self._waited_s, self._started_s = queued_s(), time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds so far. Sleeping, and waiting for anything but a core, counts."""
        return time.perf_counter() - self._started_s - (queued_s() - self._waited_s)


def queued_s() -> float:
    """Seconds that the thread has waited for a core in its life; 0 on systems other than Linux."""
    try:
        return int(_SCHEDULING.read_bytes().split()[1]) / 1e9
    except OSError:
        return 0.0
