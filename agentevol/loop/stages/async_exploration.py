"""Asynchronous exploration: rounds played while the policy trains on earlier ones, with bounded staleness.

With a bound of two rounds, while round 3 is trained on, rounds 4 and 5 may be under way: round 5 begins with
the weights after round 2, and the weights after round 4 are trained on it. So a policy trains on episodes at
most two updates old, whatever the durations. Rounds keep all their episodes, however long one takes: a batch
of the first to end would be one of short episodes.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from agentgym_store.records import Trajectory

Round = Callable[[], list[Trajectory]]


class AsyncExploration:
    """At most `bound` rounds beyond the one in training, each in a thread. Number `last` is the last round.

    `given_up` is set when the rounds are no longer needed.
    """

    def __init__(self, bound: int, last: int, given_up: Event | None = None) -> None:
        self._bound, self._last = bound, last
        self._rounds: dict[int, Future[list[Trajectory]]] = {}
        self._threads = ThreadPoolExecutor(max(1, bound), thread_name_prefix="explore-ahead")
        self.given_up = given_up or Event()

    def missing(self, iteration: int) -> list[int]:
        """Rounds that may begin during training on `iteration`, and have not."""
        wanted = range(iteration + 1, min(iteration + self._bound, self._last) + 1)
        return [number for number in wanted if number not in self._rounds]

    def begin(self, number: int, play: Round) -> None:
        """Start to play a round."""
        self._rounds[number] = self._threads.submit(play)

    def __contains__(self, number: int) -> bool:
        """Return whether a round was begun here."""
        return number in self._rounds

    def episodes(self, number: int) -> list[Trajectory]:
        """Episodes of a round that was begun here, once all have ended. Raises the error that stopped it.

        They are returned once and not kept: memory holds at most as many rounds as may be under way.
        """
        found = self._rounds[number].result()
        del self._rounds[number]
        return found

    def settle(self) -> None:
        """Wait for all rounds under way. Raises the error that stopped one."""
        for found in self._rounds.values():
            found.result()

    def close(self) -> None:
        """Cancel the rounds under way, and wait for their end."""
        self.given_up.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
