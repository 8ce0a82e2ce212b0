"""Use of the system in an iteration: sampled tokens and episodes per second, waits in queues, memory."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentevol.cluster.pools.dispatch import Played
from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.core.memory import peak_memory
from agentevol.core.waits import Waits


@dataclass
class _Phase:
    """Play for one purpose."""

    episodes: int = 0
    tokens: int = 0
    seconds: float = 0.0
    waits: Waits = field(default_factory=Waits)

    def figures(self, purpose: str) -> dict[str, float]:
        rates = {"sampled_tokens_per_s": self.tokens, "episodes_per_s": self.episodes}
        timed = {name: count / self.seconds for name, count in rates.items()} if self.seconds else {}
        waits = self.waits.figures("queue")
        return {f"{purpose}_{name}": value for name, value in {**timed, **waits}.items()}


class SystemLog:
    """Counts until `take`. Thread-safe."""

    def __init__(self) -> None:
        self._lock, self._phases = threading.Lock(), dict[str, _Phase]()

    def note(self, purpose: str, played: Played, episodes: int, tokens: int, seconds: float) -> None:
        """Note that episodes were played: their number, sampled tokens and duration, and the waits in
        `played`.
        """
        with self._lock:
            phase = self._phases.setdefault(purpose, _Phase())
            phase.episodes += episodes
            phase.tokens += tokens
            phase.seconds += seconds
            phase.waits.merge(played.waits)

    def take(self, workers: Iterable[WorkerUsage] = ()) -> dict[str, float]:
        """Figures since the previous call, with those of the rollout workers."""
        with self._lock:
            phases, self._phases = self._phases, {}
        found = {
            name: value for purpose, one in phases.items() for name, value in one.figures(purpose).items()
        }
        return {**found, **_of_workers(list(workers)), **_named("driver", peak_memory())}


def _of_workers(workers: list[WorkerUsage]) -> dict[str, float]:
    """Waits for a place in an engine, and the largest memory of a rollout worker."""
    waits = Waits()
    for one in workers:
        waits.merge(one.waits)
    names = {name for one in workers for name in one.memory}
    largest = {name: max(one.memory.get(name, 0.0) for one in workers) for name in sorted(names)}
    return {**waits.figures("engine"), **_named("worker", largest)}


def _named(process: str, memory: Mapping[str, float]) -> dict[str, float]:
    return {f"{process}_{name}": value for name, value in memory.items()}
