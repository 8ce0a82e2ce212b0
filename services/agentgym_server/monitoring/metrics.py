"""Counters of a server.

Counting is plain arithmetic on this object, since it happens with every step; the exposition library reads
the numbers on request only. Labels come from closed sets: environments, routes, outcomes.
"""

import resource
from collections import Counter
from pathlib import Path
from typing import Literal

from agentgym_server.monitoring.histograms import Histograms

CONTENT_TYPE = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
StepResult = Literal["ok", "replay", "conflict", "failed"]


class Metrics:
    """Counters of events; the other metrics are read from registry and pools on request."""

    def __init__(self) -> None:
        self.steps: Counter[tuple[str, StepResult]] = Counter()
        """Step requests by environment and result."""
        self.step_seconds = Histograms()
        """Execution time of steps, by environment."""
        self.queue_seconds = Histograms()
        """Queue time of steps, by environment."""
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """HTTP requests by route, method and status."""
        self.request_seconds = Histograms()
        """Time from head to reply, by route."""
        self.rejections: Counter[str] = Counter()
        """Session creations refused at capacity, by environment."""
        self.captures: Counter[str] = Counter()
        """Calls through the capture proxy by result; this server has none yet."""
        self.connections = 0
        """Open WebSockets."""


def resident_bytes() -> int:
    """Resident memory of this process; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()
