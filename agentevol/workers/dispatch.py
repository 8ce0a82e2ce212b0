"""Which episode is played by which rollout worker, and which are played again."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentevol.loop.explore import EpisodeRequest, failed
from agentgym_store.records import Trajectory


@dataclass
class Played:
    """What became of a batch of requests, besides the trajectories."""

    replayed: int = 0
    """Episodes that infrastructure broke and that were played again."""
    lost_workers: int = 0


class Attempt(NamedTuple):
    """One play of an episode."""

    request: EpisodeRequest
    tries: int = 0
    """How often it was played before."""


@dataclass
class Replica:
    """The place of one rollout worker: another process takes it when the one before is lost."""

    process: Any
    running: dict[Any, Attempt] = field(default_factory=dict[Any, Attempt])
    """By the reply that is waited for."""


class Dispatch:
    """The requests of one batch, played up to `retries` times more where infrastructure breaks them.

    A worker has at most `slots` episodes at a time. `played` is updated on the way.
    """

    def __init__(self, requests: Iterable[EpisodeRequest], slots: int, retries: int, played: Played) -> None:
        self._waiting = deque(Attempt(request) for request in requests)
        self._slots, self._retries, self._played = slots, retries, played

    @property
    def waiting(self) -> bool:
        """Whether some episode has nobody who plays it."""
        return bool(self._waiting)

    def hand_out(self, replicas: Sequence[Replica], ask: Callable[[Replica, EpisodeRequest], Any]) -> None:
        """Fill every worker up to its slots, the emptiest first; `ask` returns the reply to wait for."""
        while self._waiting:
            replica = min(replicas, key=lambda candidate: len(candidate.running))
            if len(replica.running) >= self._slots:
                return
            attempt = self._waiting.popleft()
            replica.running[ask(replica, attempt.request)] = attempt

    def lost(self, replica: Replica, kind: str, detail: str) -> list[Trajectory]:
        """Every episode under way there has ended as failed; returns those that are not played again."""
        attempts = list(replica.running.values())
        replica.running.clear()
        ended = [self.ended(failed(one.request, "", kind, detail), one) for one in attempts]
        return [trajectory for trajectory in ended if trajectory is not None]

    def ended(self, trajectory: Trajectory, attempt: Attempt) -> Trajectory | None:
        """The episode, where this is how it ended; None where it is played again."""
        if trajectory.ending.kind != "failed" or attempt.tries >= self._retries:
            return trajectory
        self._played.replayed += 1
        self._waiting.append(Attempt(attempt.request, attempt.tries + 1))
        return None
