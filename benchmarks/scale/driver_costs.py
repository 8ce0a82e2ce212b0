"""Calibration of the driver's costs on Ray, with a worker that plays nothing.

The driver is `Cluster.play`. A stand-in always answers with the same typical episode: some requests at
intervals, the others after those, which keeps the wanted number in flight.
"""

import asyncio
import time
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from agentevol.cli.benchmarks.store import episode
from agentevol.cluster.cluster import Cluster
from agentevol.cluster.pools.dispatch import Played
from agentevol.config.run import RunConfig
from agentevol.config.sections.engine import EmbeddedConfig
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.seats import Episode
from agentgym_store.records import Trajectory

EVERY_S = 0.1
"""Seconds between answers, so that each is collected in a separate round."""
HELD = -1
"""Attempt number of a request that is answered with the last of those that are not held."""


class StandIn:
    """Rollout worker without engine or environment: request number n is answered n times `EVERY_S` later."""

    def __init__(self, *_: Any) -> None:
        self._episode: Episode = (episode(0, Random(0)),)
        self._release = asyncio.Event()
        self._last = 0

    async def play(self, request: EpisodeRequest, sampling: Sampling) -> Episode:
        """Return the same episode always."""
        if request.attempt == HELD:
            await self._release.wait()
            return self._episode
        self._last = max(self._last, request.attempt)
        await asyncio.sleep(request.attempt * EVERY_S)
        if request.attempt == self._last:
            self._release.set()
            self._release, self._last = asyncio.Event(), 0
        return self._episode

    async def ready(self) -> bool:
        """Return once the worker has started."""
        return True


def request(attempt: int) -> EpisodeRequest:
    """A request in the form that a stand-in takes."""
    texts = dict.fromkeys(
        ("id", "run", "env", "task_id", "split", "kind", "difficulty", "instruction"), "any"
    )
    return EpisodeRequest(**texts, iteration=1, purpose="explore", seed=0, attempt=attempt)


def driver_costs(
    in_flight: tuple[int, ...], answers: int = 20
) -> tuple[float, float, list[tuple[int, float]]]:
    """CPU seconds of the driver's thread: to dispatch an episode, to collect one, and, for each number of
    episodes in flight, to find those that have ended.
    """
    config = RunConfig(engine=EmbeddedConfig(workers=1, slots=max(in_flight)))
    with Cluster(config, rollout_worker=StandIn) as cluster:
        cluster.start_rollouts(Checkpoint(Path("none"), 0), "none")
        found = [(count, *_rounds(cluster, count, answers)) for count in in_flight]
    hand_out_s = min(handed_s for _, handed_s, _, _ in found)
    take_in_s = min(taken_s for _, _, _, taken_s in found)
    return hand_out_s, take_in_s, [(count, max(0.0, round_s - take_in_s)) for count, _, round_s, _ in found]


def _rounds(cluster: Cluster, count: int, answers: int) -> tuple[float, float, float]:
    """CPU seconds of dispatching one of `count` episodes, of a round that collects one of them, and of
    collecting one when so many have ended that the search costs each of them little.
    """
    answered = [request(number) for number in range(answers + 1)]  # dispatched last: time runs from there
    asked = [*[request(HELD)] * (count - answers - 1), *answered]
    played = cluster.play(asked, Sampling(), Played())
    handed_s = _each(played, 1) / count
    return handed_s, _each(played, answers - 1), _each(played, count - answers)


def _each(played: Generator[Trajectory], count: int) -> float:
    """CPU seconds of this thread for each of the next `count` episodes."""
    began = time.thread_time()
    for _ in islice(played, count):
        pass
    return (time.thread_time() - began) / count
