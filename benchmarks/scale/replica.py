"""Model of an engine replica: continuous batching, one token of every running turn per step."""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count

from benchmarks.scale.events import Events, Meter, Then


class Replica:
    """Samples for at most `slots` turns at a time; others wait in order.

    A step gives each running turn a token. With B turns it takes `step_s[B - 1]` seconds. Turns join and
    leave between steps.
    """

    def __init__(self, events: Events, slots: int, step_s: Sequence[float]) -> None:
        self._events, self._slots, self._step_s = events, slots, step_s
        self._waiting: deque[tuple[int, Then]] = deque()
        self._running: list[tuple[int, int, Then]] = []  # number of its last step, place, callback
        self._steps, self._places = 0, count()
        self._stepping = False
        self.meter = Meter(events)
        """Meter of the slots in use."""

    def sample(self, tokens: int, then: Then) -> None:
        """Queue a turn of `tokens` tokens, at least 1."""
        self._waiting.append((tokens, then))
        if not self._stepping:
            self._step()

    def _step(self) -> None:
        while self._waiting and len(self._running) < self._slots:
            tokens, then = self._waiting.popleft()
            heappush(self._running, (self._steps + tokens, next(self._places), then))
        batch = len(self._running)
        self._stepping = batch > 0
        self.meter.set(batch)
        if batch:
            self._events.after(self._step_s[batch - 1], self._stepped)

    def _stepped(self) -> None:
        self._steps += 1
        ended: list[Then] = []
        while self._running and self._running[0][0] <= self._steps:
            ended.append(heappop(self._running)[2])
        for then in ended:
            then()
        self._step()
