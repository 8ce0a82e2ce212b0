"""Event simulation of a run's episodes on many replicas.

    driver -> gateway -> server -> replica -> gateway -> server -> ... -> driver
              `- begin             `- turn    `- step of the world

As many episodes are in flight as there are environments: one that ends is replaced at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from benchmarks.scale.costs import Costs, Setup, interpolated
from benchmarks.scale.driver import Driver
from benchmarks.scale.events import Events, Meter, Station, Then
from benchmarks.scale.replica import Replica

SATURATED = 0.9
"""Utilisation above which a part counts as the bottleneck."""


@dataclass(frozen=True)
class Outcome:
    """Counts after the warm-up."""

    seconds: float
    """Simulated seconds after the warm-up."""
    episodes: int
    used: Mapping[str, float]
    """Utilisation of each part; for the engines, of their slots."""
    looking: float
    """Share of the time in which the driver looked for ended episodes; not in `used`."""

    @property
    def rate(self) -> float:
        """Episodes per second."""
        return self.episodes / self.seconds

    @property
    def bottleneck(self) -> str:
        """The part with the highest utilisation, or `none` where none is saturated."""
        part = max(self.used, key=lambda name: self.used[name])
        return part if self.used[part] >= SATURATED else "none"


class Simulation:
    """Simulated parts, and the path of an episode through them."""

    def __init__(self, setup: Setup, costs: Costs, seed: int = 0) -> None:
        self.setup, self._costs = setup, costs
        self.events, self._random = Events(), Random(seed)
        step_s = [interpolated(costs.step_s, batch) for batch in range(1, setup.slots + 1)]
        self.replicas = [Replica(self.events, setup.slots, step_s) for _ in range(setup.replicas)]
        self.gateway = Station(self.events, setup.gateways)
        self.servers = [Station(self.events) for _ in range(setup.servers)]
        self.driver = Driver(
            self.events,
            self._replace,
            look_s=interpolated(costs.look_s, setup.environments),
            each_s=costs.hand_out_s + costs.take_in_s,
            append_s=lambda: self._random.choice(costs.append_s),
            commit_every=setup.commit_every,
        )
        self._homes: list[int] = []
        """Places whose episode has ended: the next one goes there."""

    def run(self, episodes: int) -> Outcome:
        """Count at least `episodes` episodes after twice as many as there are environments."""
        for place in range(self.setup.environments):
            self._begin(place)
        self._until(2 * self.setup.environments)
        for meter in self._meters():
            meter.forget()
        began, before = self.events.now, self.driver.finished
        self._until(before + episodes)
        return self._outcome(self.events.now - began, self.driver.finished - before)

    def _until(self, finished: int) -> None:
        self.events.run(until=lambda: self.driver.finished >= finished)

    def _meters(self) -> list[Meter]:
        stations = (*self.replicas, *self.servers, self.gateway)
        driver = self.driver
        return [*(one.meter for one in stations), driver.looking, driver.working, driver.appending]

    def _outcome(self, seconds: float, episodes: int) -> Outcome:
        setup, driver = self.setup, self.driver
        slots_s = sum(replica.meter.total for replica in self.replicas)
        servers_s = sum(server.meter.total for server in self.servers)
        used_s = {
            "engines": slots_s / (setup.replicas * setup.slots),
            "driver": driver.working.total,
            "table": driver.appending.total,
            "gateway": self.gateway.meter.total / setup.gateways,
            "servers": servers_s / setup.servers,
        }
        used = {part: part_s / seconds for part, part_s in used_s.items()}
        return Outcome(seconds, episodes, used, driver.looking.total / seconds)

    def _replace(self) -> None:
        self._begin(self._homes.pop())

    def _begin(self, place: int) -> None:
        """Begin an episode at one of the places, each of which belongs to a replica and a server."""
        turns = self._random.randint(*self.setup.turns)
        open_s = self._random.choice(self._costs.open_s)
        self._request(place, open_s, lambda: self._turn(place, turns))

    def _turn(self, place: int, left: int) -> None:
        """Sample a turn and play it, `left` times; then close the session."""
        if not left:
            self._request(place, 0.0, lambda: self._ended(place))
            return
        played = lambda: self._turn(place, left - 1)  # noqa: E731 - the callback after the step
        world_s = self._random.choice(self._costs.world_s)
        replica = self.replicas[place % len(self.replicas)]
        replica.sample(self.setup.tokens, lambda: self._request(place, world_s, played))

    def _ended(self, place: int) -> None:
        self._homes.append(place)
        self.driver.ended()

    def _request(self, place: int, world_s: float, then: Then) -> None:
        """Send a request through the gateway to the place's server, which takes `world_s` longer than for an
        empty one.
        """
        server = self.servers[place % len(self.servers)]
        seconds = self._costs.server_s + world_s
        self.gateway.serve(self._costs.gateway_s, lambda: server.serve(seconds, then))
