"""What the driver of a run pays, measured on Ray with workers that play nothing.

The driver is `Cluster.play`. Its stand-in workers answer with one and the same typical episode, some at
intervals, others only after the measurement, which keeps as many in flight as asked for.
"""

import asyncio
import time
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from agentevol.bench.store import episode
from agentevol.cluster import Cluster, Played
from agentevol.config.run import RunConfig
from agentevol.config.sections import EngineConfig
from agentevol.loop.explore import EpisodeRequest
from agentevol.protocols import Checkpoint, Sampling
from agentgym_store.records import Trajectory

WORKERS = 2
EVERY_S = 0.1
"""So far apart that each is taken in by a round of its own."""
NEVER = -1
"""The attempt of a request that is not answered."""
AT_ONCE = 2000
"""Requests that are answered at once: most have ended at the next look, which then costs each little."""


class StandIn:
    """A rollout worker without engine or world: request number n is answered n times `EVERY_S` later."""

    def __init__(self, *_: Any) -> None:
        self._episode = episode(0, Random(0))

    async def play(self, request: EpisodeRequest, sampling: Sampling) -> Trajectory:
        """The same episode as ever."""
        await asyncio.sleep(3600 if request.attempt == NEVER else request.attempt * EVERY_S)
        return self._episode

    async def ready(self) -> bool:
        """Answers once the worker has started."""
        return True


def request(attempt: int) -> EpisodeRequest:
    """One that a stand-in takes as it is."""
    texts = dict.fromkeys(
        ("id", "run", "env", "task_id", "split", "kind", "difficulty", "instruction"), "any"
    )
    return EpisodeRequest(**texts, iteration=1, purpose="explore", seed=0, attempt=attempt)


def driver_costs(
    in_flight: tuple[int, ...], answers: int = 20
) -> tuple[float, float, list[tuple[int, float]]]:
    """Processor seconds of the driver's thread: to hand an episode out, to take one in, and, for each number
    of episodes in flight, to look which have ended.
    """
    engine = EngineConfig(workers=WORKERS, slots=-(-max(in_flight) // WORKERS))
    with Cluster(RunConfig(engine=engine), StandIn) as cluster:
        rounds = [(count, *_rounds(cluster, count, answers)) for count in in_flight]
        whole_s = _each(_begun(cluster, [request(0)] * AT_ONCE), AT_ONCE)
    hand_out_s = min(handed_s for _, handed_s, _ in rounds)
    take_in_s = max(0.0, whole_s - hand_out_s)
    return hand_out_s, take_in_s, [(count, max(0.0, round_s - take_in_s)) for count, _, round_s in rounds]


def _rounds(cluster: Cluster, count: int, answers: int) -> tuple[float, float]:
    """Processor seconds of handing one out of `count`, and of a round that takes one of them in."""
    answered = [request(number) for number in range(answers)]  # handed out last: time runs from there
    played = _begun(cluster, [*[request(NEVER)] * (count - answers), *answered])
    handed_s = _each(played, 1) / count
    return handed_s, _each(played, answers - 1)


def _begun(cluster: Cluster, requests: list[EpisodeRequest]) -> Generator[Trajectory]:
    """What comes of requests that are handed to new stand-ins."""
    cluster.start_rollouts(Checkpoint(Path("none"), 0), "none")
    return cluster.play(requests, Sampling(), Played())


def _each(played: Generator[Trajectory], count: int) -> float:
    """Processor seconds of this thread for each of the next `count` episodes."""
    began = time.thread_time()
    for _ in islice(played, count):
        pass
    return (time.thread_time() - began) / count
