"""Which episode is played by which rollout worker, and which are played again."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agentevol.loop.explore import ABORTED, EpisodeRequest
from agentgym_store.records import Trajectory


@dataclass
class Played:
    """What became of a batch of requests, besides the trajectories."""

    replayed: int = 0
    """Episodes that infrastructure broke and that were played again."""
    aborted: int = 0
    """Episodes that were given up when the weights changed, and played again."""
    lost_workers: int = 0


class Attempt(NamedTuple):
    """One play of an episode."""

    request: EpisodeRequest
    tries: int = 0
    """How often infrastructure broke it before."""


@dataclass
class Replica:
    """The place of one rollout worker: another process takes it when the one before is lost."""

    process: Any
    running: int = 0
    """Episodes under way in this process, of all batches."""


class Running(NamedTuple):
    """An episode under way, with the process that plays it."""

    attempt: Attempt
    replica: Replica
    process: Any


class Dispatch:
    """The requests of one batch, played up to `retries` times more where infrastructure breaks them.

    `ask` has a process play an episode and returns the reply to wait for. `played` is updated on the way.
    """

    def __init__(
        self,
        requests: Iterable[EpisodeRequest],
        ask: Callable[[Any, EpisodeRequest], Any],
        retries: int,
        played: Played,
    ) -> None:
        self._waiting = deque(Attempt(request) for request in requests)
        self._ask, self._retries, self._played = ask, retries, played
        self.running: dict[Any, Running] = {}
        """By the reply that is waited for."""

    @property
    def unfinished(self) -> bool:
        """Whether some episode has not ended for good."""
        return bool(self._waiting or self.running)

    def hand_out(self, replicas: Sequence[Replica], slots: int) -> None:
        """Fill every worker up to its slots, the emptiest first."""
        while self._waiting:
            replica = min(replicas, key=lambda candidate: candidate.running)
            if replica.running >= slots:
                return
            attempt = self._waiting.popleft()
            replica.running += 1
            reply = self._ask(replica.process, attempt.request)
            self.running[reply] = Running(attempt, replica, replica.process)

    def answered(self, reply: Any) -> Running:
        """What the reply was waited for; it is under way no more."""
        running = self.running.pop(reply)
        if running.process is running.replica.process:  # not since replaced
            running.replica.running -= 1
        return running

    def ended(self, trajectory: Trajectory, attempt: Attempt) -> Trajectory | None:
        """The episode, where this is how it ended; None where it is played again."""
        if trajectory.ending.kind != "failed":
            return trajectory
        if trajectory.ending.failure == ABORTED:
            self._played.aborted += 1
            self._waiting.append(attempt)
            return None
        if attempt.tries >= self._retries:
            return trajectory
        self._played.replayed += 1
        self._waiting.append(Attempt(attempt.request, attempt.tries + 1))
        return None
