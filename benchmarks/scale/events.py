"""Discrete-event simulation: an event queue, stations where work queues, and meters of their use.

events = Events()
gateway = Station(events)
events.after(1.0, lambda: gateway.serve(0.25, then=done))
events.run(until=lambda: events.now > 60)
"""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Then = Callable[[], None]


class Events:
    """Event queue with a clock. Events of one time come in the order in which they were scheduled."""

    def __init__(self) -> None:
        self.now = 0.0
        """Simulated time in seconds."""
        self._heap: list[tuple[float, int, Then]] = []
        self._numbers = count()

    def after(self, delay_s: float, then: Then) -> None:
        """Schedule `then` after the delay."""
        heappush(self._heap, (self.now + delay_s, next(self._numbers), then))

    def run(self, until: Callable[[], bool]) -> None:
        """Process events until `until` is true, evaluated before each, or none is left."""
        while self._heap and not until():
            self.now, _, then = heappop(self._heap)
            then()


class Meter:
    """Integral of a level over time."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._level = self._area = self._since = 0.0

    def set(self, level: float) -> None:
        """Set the level from now on."""
        self._area, self._since = self.total, self._events.now
        self._level = level

    def forget(self) -> None:
        """Restart the integral."""
        self._area, self._since = 0.0, self._events.now

    @property
    def total(self) -> float:
        """Integral of the level in level times seconds so far."""
        return self._area + self._level * (self._events.now - self._since)


class Station:
    """`servers` equal servers with one queue, first come first served."""

    def __init__(self, events: Events, servers: int = 1) -> None:
        self._events, self._servers = events, servers
        self._queue: deque[tuple[float, float, Then]] = deque()
        self._working = 0
        self.meter = Meter(events)
        """Meter of busy servers."""
        self.begun = 0
        self.waited_s = 0.0
        """Total waiting time of all work that has begun."""

    def serve(self, seconds: float, then: Then) -> None:
        """Queue work that occupies a server for `seconds`; `then` is called when it is done."""
        self._queue.append((self._events.now, seconds, then))
        self._begin()

    def _begin(self) -> None:
        while self._queue and self._working < self._servers:
            came, seconds, then = self._queue.popleft()
            self._working += 1
            self.begun += 1
            self.waited_s += self._events.now - came
            self._events.after(seconds, lambda then=then: self._done(then))
        self.meter.set(self._working)

    def _done(self, then: Then) -> None:
        self._working -= 1
        self._begin()
        then()
