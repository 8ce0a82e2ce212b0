"""Measured costs of a run's parts, in seconds, and the resulting limits."""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from agentevol.core.errors import ConfigError


@dataclass(frozen=True)
class Costs:
    """Costs measured on one machine; `calibration` describes how."""

    step_s: Sequence[tuple[int, float]]
    """Concurrent turns -> seconds in which the engine samples a token for each, in ascending order."""
    gateway_s: float
    """Gateway's seconds for one request."""
    server_s: float
    """Environment server's seconds for one request, without the environment's own step."""
    open_s: Sequence[float]
    """Environment's seconds to begin an episode, by task."""
    world_s: Sequence[float]
    """Environment's seconds for steps, in the order of play."""
    append_s: Sequence[float]
    """Table's seconds for successive commits of `COMMIT_EVERY` episodes."""
    hand_out_s: float
    """Driver's seconds to dispatch an episode."""
    take_in_s: float
    """Driver's seconds to collect an ended episode."""
    look_s: Sequence[tuple[int, float]]
    """Episodes in flight -> driver's seconds to find those that have ended, in ascending order."""

    @classmethod
    def read(cls, file: Path) -> "Costs":
        """Costs from a file that `python -m benchmarks scale --json` printed. Raises `ConfigError`."""
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["costs"]
            return cls(**{field.name: found[field.name] for field in fields(cls)})
        except (OSError, ValueError, KeyError, TypeError) as cause:
            raise ConfigError(
                f"{file} holds no costs ({cause!r}): write it with `python -m benchmarks scale --json`"
            ) from cause

    def as_json(self) -> dict[str, object]:
        """The costs in the format of `read`."""
        return asdict(self)


@dataclass(frozen=True)
class Setup:
    """Setup of a simulation."""

    replicas: int
    environments: int
    """Number of sessions, and so episodes in flight, over all replicas."""
    turns: tuple[int, int]
    """Range of turns of an episode, uniformly distributed."""
    tokens: int = 6
    """Sampled tokens of a turn."""
    slots: int = 64
    """Turns that a replica samples for at a time."""
    gateways: int = 1
    servers: int = 1
    """Number of environment servers, with one processor each."""
    commit_every: int = 64

    @property
    def mean_turns(self) -> float:
        """Mean turns of an episode."""
        return sum(self.turns) / 2

    @property
    def requests(self) -> float:
        """Requests to the environment in an episode: one to begin, one for each turn, one to end."""
        return self.mean_turns + 2


def mean(seconds: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(seconds) / len(seconds)


def interpolated(points: Sequence[tuple[int, float]], at: int) -> float:
    """Linear interpolation at `at` through points in ascending order; constant beyond the outer ones.

    >>> interpolated([(1, 2.0), (5, 4.0)], 3)
    3.0
    """
    place = bisect_right([x for x, _ in points], at)
    if place in (0, len(points)):
        return points[max(0, place - 1)][1]
    (left, low), (right, high) = points[place - 1], points[place]
    return low + (high - low) * (at - left) / (right - left)


def limits(setup: Setup, costs: Costs) -> Mapping[str, float]:
    """Episodes per second that each part could carry if the others took no time.

    Driver and table are one thread: the driver's limit contains the table's work.
    """
    step_s = interpolated(costs.step_s, setup.slots)
    append_s = mean(costs.append_s) / setup.commit_every
    worlds_s = mean(costs.open_s) + setup.mean_turns * mean(costs.world_s)
    server_s = setup.requests * costs.server_s + worlds_s
    return {
        "engines": setup.replicas * setup.slots / (setup.mean_turns * setup.tokens * step_s),
        "driver": 1 / (costs.hand_out_s + costs.take_in_s + append_s),
        "table": 1 / append_s,
        "gateway": setup.gateways / (setup.requests * costs.gateway_s),
        "servers": setup.servers / server_s,
    }
