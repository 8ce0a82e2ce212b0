"""Dispatch of episodes to rollout workers, with retries of those that infrastructure broke."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentevol.cluster.processes.failures import ProcessFailures
from agentevol.core.errors import FormatFault
from agentevol.core.waits import Waits
from agentevol.rollout.episode import ABORTED, EpisodeRequest
from agentevol.rollout.faults import FaultLog
from agentevol.rollout.seats import Episode, failed_episode, failure_of
from agentgym_store.records import Trajectory


@dataclass
class Played:
    """Counts of a batch of requests, besides the trajectories."""

    replayed: int = 0
    """Episodes that infrastructure broke and that were played again."""
    aborted: int = 0
    """Episodes that were aborted for new weights, and played again."""
    waits: Waits = field(default_factory=Waits)
    """Waits of episodes for a place at a rollout worker, those played again each time."""


class Attempt(NamedTuple):
    """One attempt to play an episode."""

    batch: "Dispatch"
    request: EpisodeRequest
    tries: int = 0
    """Number of earlier attempts that infrastructure broke."""
    since: float = 0.0
    """Time since which it waits for a place at a worker."""


@dataclass
class Replica:
    """Slot of one rollout worker: another process takes it when the previous one is lost.

    Times are in seconds, of a monotonic clock.
    """

    number: int
    process: Any = None
    """None where no node has room for a process."""
    starting: Any = None
    """Reply that confirms the start; None once it has come."""
    gpus: tuple[str, ...] = ()
    """Ids of the GPUs that the process has claimed, once it has started."""
    began: float = 0.0
    """Time of its start."""
    running: dict[Any, Attempt] = field(default_factory=dict[Any, Attempt])
    """Attempts by their awaited reply."""
    silent_since: float = 0.0
    """Time at which its last episode ended, or at which it got one after it had none."""
    answered: float = 0.0
    """Time at which its last episode ended."""
    finished: int = 0
    """Number of finished episodes, over all processes of this slot."""
    setbacks: ProcessFailures = field(default_factory=ProcessFailures)

    @property
    def name(self) -> str:
        """Name for messages."""
        return f"rollout worker {self.number}"

    @property
    def ready(self) -> bool:
        """Return whether it can take episodes."""
        return self.process is not None and self.starting is None

    @property
    def awaited(self) -> set[Any]:
        """All outstanding replies."""
        return self.running.keys() | ({self.starting} if self.starting is not None else set())

    def give(self, reply: Any, attempt: Attempt, now: float) -> None:
        """Note an episode that was given to it."""
        if not self.running:
            self.silent_since = now
        self.running[reply] = attempt

    def end(self, reply: Any, now: float) -> Attempt:
        """Remove one of its episodes that has ended."""
        self.silent_since = self.answered = now
        self.finished += 1
        self.setbacks.reached(self.finished, now)
        return self.running.pop(reply)


def stalled(replicas: Sequence[Replica], now: float, bound_s: float) -> list[Replica]:
    """Workers that have episodes and finished none for longer than the bound, while another finished some."""
    return [
        one
        for one in replicas
        if one.running
        and now - one.silent_since > bound_s
        and any(other.answered > one.silent_since for other in replicas if other is not one)
    ]


class Dispatch:
    """Requests of one batch, retried up to `retries` times where infrastructure breaks them.

    `ask` sends an episode to a process and returns the awaited reply. Among several batches, the one with the
    lowest `priority` comes first. `played` and `faults` are updated meanwhile.
    """

    def __init__(
        self,
        requests: Iterable[EpisodeRequest],
        ask: Callable[[Any, EpisodeRequest], Any],
        retries: int,
        played: Played,
        faults: FaultLog,
        priority: int = 0,
    ) -> None:
        now = time.monotonic()
        self._waiting = deque(Attempt(self, request, since=now) for request in requests)
        self._left = len(self._waiting)
        self._ask, self._retries = ask, retries
        self._played, self._faults = played, faults
        self._done: deque[Trajectory] = deque()
        self.priority = priority

    @property
    def unfinished(self) -> bool:
        """Return whether there is an episode that was not taken yet."""
        return bool(self._left or self._done)

    def taken(self) -> Iterator[Trajectory]:
        """Trajectories of the episodes that have ended and were not taken before; those of the seats of one
        episode follow each other. Thread-safe.
        """
        while self._done:
            yield self._done.popleft()

    def hand_out(self, replicas: Sequence[Replica], slots: int) -> None:
        """Fill every started worker up to its slots, the emptiest first."""
        there = [replica for replica in replicas if replica.ready]
        while self._waiting and there:
            replica = min(there, key=lambda candidate: len(candidate.running))
            if len(replica.running) >= slots:
                return
            attempt = self._waiting.popleft()
            now = time.monotonic()
            self._played.waits.add(now - attempt.since)
            replica.give(self._ask(replica.process, attempt.request), attempt, now)

    def ended(self, episode: Episode, attempt: Attempt) -> None:
        """Record the end of an episode, or queue it again: all its seats or none."""
        broken = failure_of(episode)
        if broken == ABORTED:
            self._played.aborted += 1
            self._waiting.append(attempt._replace(since=time.monotonic()))
        elif broken not in (None, FormatFault.kind) and attempt.tries < self._retries:
            self._played.replayed += 1
            self._faults.note(replayed=1)
            self._waiting.append(attempt._replace(tries=attempt.tries + 1, since=time.monotonic()))
        else:
            self._done.extend(episode)
            self._left -= 1


def lost(replica: Replica, kind: str, detail: str) -> None:
    """Mark every episode of a lost worker as failed."""
    attempts = list(replica.running.values())
    replica.running.clear()
    for attempt in attempts:
        attempt.batch.ended(failed_episode(attempt.request, "", kind, detail), attempt)
