"""Rounds that are explored while earlier ones are learnt from.

With a bound of two rounds and round 3 to be learnt from, rounds 4 and 5 may be under way: round 5 begins with
the weights that round 2 made, and is learnt from by those that round 4 made. So what a policy learns from is
never more than two updates old, whatever takes how long. Rounds keep their episodes, however long one takes:
a batch of whichever ended first would be one of short episodes.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

from agentgym_store.records import Trajectory

Round = Callable[[], list[Trajectory]]


class Ahead:
    """At most `bound` rounds beyond the one that is learnt from, each in a thread. Number `last` ends it.

    `given_up` is set when nobody wants them any more.
    """

    def __init__(self, bound: int, last: int) -> None:
        self._bound, self._last = bound, last
        self._rounds: dict[int, Future[list[Trajectory]]] = {}
        self._threads = ThreadPoolExecutor(max(1, bound), thread_name_prefix="explore-ahead")
        self.given_up = Event()

    def missing(self, iteration: int) -> list[int]:
        """The rounds that may begin while `iteration` is learnt from, and have not."""
        wanted = range(iteration + 1, min(iteration + self._bound, self._last) + 1)
        return [number for number in wanted if number not in self._rounds]

    def begin(self, number: int, play: Round) -> None:
        """Have a round played."""
        self._rounds[number] = self._threads.submit(play)

    def __contains__(self, number: int) -> bool:
        """Whether a round was begun here."""
        return number in self._rounds

    def episodes(self, number: int) -> list[Trajectory]:
        """Of a round that was begun here, once all of them have ended. Raises what stopped it.

        They are handed out once, and not kept: a run has as many rounds in memory as may be under way.
        """
        found = self._rounds[number].result()
        del self._rounds[number]
        return found

    def settle(self) -> None:
        """Wait for all that are under way. Raises what stopped one."""
        for found in self._rounds.values():
            found.result()

    def close(self) -> None:
        """Give up what is under way, and wait until nothing is."""
        self.given_up.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
