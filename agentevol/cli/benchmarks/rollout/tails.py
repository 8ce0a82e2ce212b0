"""Simulated cost of slow episodes: rounds that wait for the slowest against rounds that do not.

The engine is a fake one that gives every episode tokens at the same fixed rate; the environments' time is
drawn from a lognormal distribution. Training takes a fixed time, concurrent with exploration where the
schedule allows it.

    waves          as many episodes as there are slots begin at once; the next begin when all have ended
    synchronous    an episode that ends is replaced at once, until a round is full; then comes the update:
                   the behaviour of `agentevol run`
    asynchronous   the next rounds begin before the update, with weights at most the given number of versions
                   older than those that they update
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from statistics import mean, quantiles

from agentevol.cli.benchmarks.figures import short

SLOTS, ROUND, ROUNDS, LEARN_S = 64, 256, 20, 20.0
TOKENS, TOKENS_PER_S = 600, 60.0
"""Tokens of an episode; tokens per second of each, independent of the others."""
MEDIAN_S, SIGMA = 10.0, 1.2
"""Environments' time in an episode: sigma 1.2 makes its 99th percentile 16 times its median."""
STALENESS = (1, 2, 4)


def drawn(count: int, seed: int = 0) -> list[float]:
    """Duration in seconds of each episode by itself."""
    random = Random(seed)
    return [TOKENS / TOKENS_PER_S + MEDIAN_S * random.lognormvariate(0, SIGMA) for _ in range(count)]


@dataclass(frozen=True)
class Schedule:
    """Result of a schedule."""

    what: str
    wall_s: float
    busy: float
    """Share of the slots' time in which an episode was played."""
    staleness: tuple[int, ...]
    """Staleness of each trained episode: versions between the weights that began it and those that it
    updates.
    """


def waves(seconds: Sequence[float], slots: int, size: int, learn_s: float) -> Schedule:
    """Rounds of `size` episodes, `slots` at once, each of which waits for the slowest of its wave."""
    rounds = [seconds[first : first + size] for first in range(0, len(seconds), size)]
    explored_s = [
        sum(max(one[first : first + slots]) for first in range(0, len(one), slots)) for one in rounds
    ]
    wall_s = sum(explored_s) + learn_s * len(rounds)
    return Schedule("waves", wall_s, sum(seconds) / (slots * wall_s), (0,) * len(seconds))


@dataclass
class _Overlap:
    """Concurrent exploration and training."""

    seconds: Sequence[float]
    slots: int
    size: int
    learn_s: float
    most: int
    now: float = 0.0
    version: int = 0
    learning: bool = False
    events: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    """Time of an episode's end, with its number; -1 is an update."""
    began: list[int] = field(default_factory=list[int])
    """Version that began each episode so far."""
    running: set[int] = field(default_factory=set[int])
    ended: list[int] = field(default_factory=list[int])
    """Numbers of ended episodes that are not trained on yet, a heap."""
    staleness: list[int] = field(default_factory=list[int])

    def play(self) -> None:
        """Simulate from the first episode to the last update."""
        while True:
            self._begin()
            self._learn()
            if not self.events:
                return
            self.now, number = heappop(self.events)
            if number < 0:
                self.version, self.learning = self.version + 1, False
            else:
                self.running.remove(number)
                heappush(self.ended, number)

    def _begin(self) -> None:
        """Replace ended episodes, as far as the bound allows."""
        while len(self.running) < self.slots and len(self.began) < len(self.seconds):
            number = len(self.began)
            if number // self.size > self.version + self.most:
                return
            self.began.append(self.version)
            self.running.add(number)
            heappush(self.events, (self.now + self.seconds[number], number))

    def _learn(self) -> None:
        """Update with the oldest, unless an unfinished one would be too stale for the next update."""
        late = any(self.version - self.began[number] >= self.most for number in self.running)
        if self.learning or late or len(self.ended) < self.size:
            return
        self.learning = True
        chosen = [heappop(self.ended) for _ in range(self.size)]
        self.staleness += [self.version - self.began[number] for number in chosen]
        heappush(self.events, (self.now + self.learn_s, -1))


def overlapped(seconds: Sequence[float], slots: int, size: int, learn_s: float, most: int) -> Schedule:
    """Episodes begin while there are at most `most` + 1 rounds that no update has used yet (AReaL,
    arXiv:2505.24298); other than there, an update also waits for episodes that would exceed `most` without
    it. With `most` = 0 nothing overlaps: rounds are synchronous.

    `seconds` are those of whole rounds, in the order in which they begin.
    """
    overlap = _Overlap(seconds, slots, size, learn_s, most)
    overlap.play()
    what = f"asynchronous, at most {most} versions old" if most else "synchronous"
    return Schedule(what, overlap.now, sum(seconds) / (slots * overlap.now), tuple(overlap.staleness))


def schedules() -> list[Schedule]:
    """All schedules on the same episodes."""
    seconds = drawn(ROUND * ROUNDS)
    overlaps = [overlapped(seconds, SLOTS, ROUND, LEARN_S, most) for most in (0, *STALENESS)]
    return [waves(seconds, SLOTS, ROUND, LEARN_S), *overlaps]


def as_json(found: Sequence[Schedule]) -> dict[str, object]:
    """Settings and results."""
    rows = [
        {
            "what": one.what,
            "wall_s": one.wall_s,
            "busy": one.busy,
            "mean_staleness": mean(one.staleness),
            "most_staleness": max(one.staleness),
        }
        for one in found
    ]
    settings = {"slots": SLOTS, "round": ROUND, "rounds": ROUNDS, "learn_s": LEARN_S}
    engine = {"tokens": TOKENS, "tokens_per_s": TOKENS_PER_S}
    world = {"median_s": MEDIAN_S, "sigma": SIGMA}
    return {"simulated": True, "settings": settings, "engine": engine, "world": world, "schedules": rows}


def lines(found: Sequence[Schedule]) -> list[str]:
    """Results as text, each compared with the synchronous one."""
    seconds = sorted(drawn(ROUND * ROUNDS))
    cuts = quantiles(seconds, n=100)
    synchronous_s = next(one.wall_s for one in found if one.what == "synchronous")
    rows = [
        f"  {one.what:<36}{one.wall_s:>8,.0f} s{synchronous_s / one.wall_s:>7.2f} times the speed"
        f"{one.busy:>7.0%} of slots in use{mean(one.staleness):>7.2f} versions old in the mean"
        for one in found
    ]
    return [
        f"simulated, with a fake engine: {ROUNDS} rounds of {ROUND} episodes on {SLOTS} slots,"
        f" {LEARN_S:.0f} s to learn after each",
        f"an episode: {TOKENS} tokens at {TOKENS_PER_S:.0f} a second, and a world's time, lognormal with"
        f" median {MEDIAN_S:.0f} s and sigma {SIGMA}",
        f"as drawn: mean {short(mean(seconds))} s, median {short(cuts[49])}, 95 % {short(cuts[94])},"
        f" 99 % {short(cuts[98])}, longest {short(seconds[-1])}",
        *rows,
    ]
