"""Log of a run's faults: reported when they happen, and counted for the summary of their iteration."""

import threading
from collections import Counter
from collections.abc import Callable

from agentevol.core.summaries import Faults


class FaultLog:
    """Counts faults until `take`. Thread-safe; `say` gets a line for each."""

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self._say, self._lock = say, threading.Lock()
        self._counts: Counter[str] = Counter()
        self.reason: str | None = None
        """Reason for which the run cannot continue; None while it can."""

    def note(self, line: str = "", **amounts: float) -> None:
        """Add to fields of `Faults`, and report a line where one is given."""
        with self._lock:
            for name, amount in amounts.items():
                self._counts[name] += amount  # pyright: ignore[reportArgumentType] - seconds, too
        if line:
            self._say(line)

    def end(self, reason: str) -> None:
        """Declare that the run cannot continue: the next check raises `RunStopped` with this reason."""
        self.reason = reason
        self._say(reason)

    def take(self) -> Faults:
        """Faults noted since the previous call."""
        with self._lock:
            counts, self._counts = dict(self._counts), Counter[str]()
        return Faults.model_validate(counts)


def sentence(faults: Faults) -> str:
    """Text of the faults: `lost 2 rollout workers, 1 node; 37 episodes played again; 12.3 s lost`; empty for
    none.
    """
    named = (
        (faults.lost_workers, "rollout worker"),
        (faults.stalled, "stalled rollout worker"),
        (faults.lost_learners, "learner"),
        (faults.lost_servers, "environment server"),
        (faults.lost_nodes, "node"),
    )
    lost = ", ".join(f"{count} {name}{'s' * (count > 1)}" for count, name in named if count)
    seconds = faults.workers_s + faults.learners_s + faults.servers_s
    parts = (
        f"lost {lost}" if lost else "",
        f"{faults.replayed} episodes played again" if faults.replayed else "",
        f"{seconds:.1f} s lost" if seconds else "",
    )
    return "; ".join(part for part in parts if part)
