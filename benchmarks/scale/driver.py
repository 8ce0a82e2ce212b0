"""Model of the driver that dispatches and collects episodes, and of its table: `Cluster.play` with
`Episodes.play`.

One thread works in rounds: find the ended episodes among those in flight, collect them, append them to the
table in commits, dispatch others.
"""

from collections.abc import Callable

from benchmarks.scale.events import Events, Meter, Then


class Driver:
    """Collects episodes and begins another one for each.

    A round takes `look_s`, `each_s` for every ended episode, and `append_s()` for every `commit_every` of
    them. `begin` begins an episode.
    """

    def __init__(
        self,
        events: Events,
        begin: Then,
        *,
        look_s: float,
        each_s: float,
        append_s: Callable[[], float],
        commit_every: int,
    ) -> None:
        self._events, self._begin = events, begin
        self._look_s, self._each_s = look_s, each_s
        self._append_s, self._commit_every = append_s, commit_every
        self._ended = self._uncommitted = 0
        self._busy = False
        self.finished = 0
        """Number of collected episodes."""
        self.looking, self.working, self.appending = Meter(events), Meter(events), Meter(events)
        """Meters of its time; appending is part of working, looking is not."""

    def ended(self) -> None:
        """Note an ended episode that waits to be collected."""
        self._ended += 1
        if not self._busy:
            self._look()

    def _look(self) -> None:
        self._busy = True
        self.looking.set(1)
        self._events.after(self._look_s, self._take_in)

    def _take_in(self) -> None:
        taken, self._ended = self._ended, 0
        self.looking.set(0)
        self.working.set(1)
        self._events.after(taken * self._each_s, lambda: self._append(taken))

    def _append(self, taken: int) -> None:
        commits, self._uncommitted = divmod(self._uncommitted + taken, self._commit_every)
        self.appending.set(1)
        seconds = sum(self._append_s() for _ in range(commits))
        self._events.after(seconds, lambda: self._done(taken))

    def _done(self, taken: int) -> None:
        self.appending.set(0)
        self.working.set(0)
        self.finished += taken
        self._busy = False
        for _ in range(taken):
            self._begin()
        if self._ended and not self._busy:
            self._look()
