"""What each part of a run was measured to cost, in seconds, and the limits that follow from it."""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from agentevol.errors import ConfigError


@dataclass(frozen=True)
class Costs:
    """Measured on one machine; `calibration` says how."""

    step_s: Sequence[tuple[int, float]]
    """Turns at a time -> seconds in which the engine gives each of them a token, in ascending order."""
    gateway_s: float
    """Of the gateway, for one request."""
    server_s: float
    """Of an environment server, for one request, apart from the world's own step."""
    open_s: Sequence[float]
    """Of the world, for beginning an episode, by task."""
    world_s: Sequence[float]
    """Of the world, for steps as they were played."""
    append_s: Sequence[float]
    """Of the table, for commits of `COMMIT_EVERY` episodes as they followed each other."""
    hand_out_s: float
    """Of the driver, for handing an episode out."""
    take_in_s: float
    """Of the driver, for taking in an episode that has ended."""
    look_s: Sequence[tuple[int, float]]
    """Episodes in flight -> seconds of the driver to see which of them have ended, in ascending order."""

    @classmethod
    def read(cls, file: Path) -> "Costs":
        """Those in a file that `agentevol bench scale --json` printed. Raises `ConfigError`."""
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["costs"]
            return cls(**{field.name: found[field.name] for field in fields(cls)})
        except (OSError, ValueError, KeyError, TypeError) as cause:
            raise ConfigError(
                f"{file} holds no costs ({cause!r}): write it with `agentevol bench scale --json`"
            ) from cause

    def as_json(self) -> dict[str, object]:
        """What `read` reads."""
        return asdict(self)


@dataclass(frozen=True)
class Setup:
    """What is simulated."""

    replicas: int
    environments: int
    """Sessions, and so episodes in flight, over all replicas."""
    turns: tuple[int, int]
    """Of an episode: every number from the first to the second is as likely."""
    tokens: int = 6
    """Sampled in a turn."""
    slots: int = 64
    """Turns that a replica samples for at a time."""
    gateways: int = 1
    servers: int = 1
    """Environment servers, a processor each."""
    commit_every: int = 64

    @property
    def mean_turns(self) -> float:
        """Turns of an episode."""
        return sum(self.turns) / 2

    @property
    def requests(self) -> float:
        """To the environment in an episode: one to begin, one for each turn, one to end."""
        return self.mean_turns + 2


def mean(seconds: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(seconds) / len(seconds)


def interpolated(points: Sequence[tuple[int, float]], at: int) -> float:
    """What lies at `at` on the line through points in ascending order; the outer ones hold beyond them.

    >>> interpolated([(1, 2.0), (5, 4.0)], 3)
    3.0
    """
    place = bisect_right([x for x, _ in points], at)
    if place in (0, len(points)):
        return points[max(0, place - 1)][1]
    (left, low), (right, high) = points[place - 1], points[place]
    return low + (high - low) * (at - left) / (right - left)


def limits(setup: Setup, costs: Costs) -> Mapping[str, float]:
    """Episodes a second that each part could carry if the others took no time.

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
