"""How far work had come when its process was lost, and how long it takes to be there again."""

import time
from dataclasses import dataclass

from agentevol.errors import RunStopped
from agentevol.workers.reasons import last_words


@dataclass
class Setbacks:
    """Losses of one process and those in its place. Times are in seconds, of any clock."""

    in_a_row: int = 0
    """Losses since the work came further than ever before."""
    lost_before: bool = False
    furthest: int = 0
    _lost_at: float | None = None

    def lost(self, now: float) -> None:
        """The process is gone."""
        self.in_a_row, self.lost_before = self.in_a_row + 1, True
        if self._lost_at is None:  # else its replacement went as well, before it had caught up
            self._lost_at = now

    def reached(self, step: int, now: float) -> float | None:
        """The work has come to `step`, from 0. Returns what a loss has cost, once it is made up for."""
        if step > self.furthest:
            self.furthest, self.in_a_row = step, 0
        if self._lost_at is None or step < self.furthest:
            return None
        cost, self._lost_at = now - self._lost_at, None
        return cost


def stop_if_hopeless(work: Setbacks, most: int, what: str, told: str) -> None:
    """Raise `RunStopped` after more than so many losses in a row; else give their cause some time to pass.

    `what` is how this is told, with a place for the number; `told` is what was told of the last loss.
    """
    if work.in_a_row > most:
        raise RunStopped(
            f"{what.format(work.in_a_row)} (ray.max_replacements); the last time: {last_words(told)}"
        )
    time.sleep(min(0.1 * work.in_a_row, 2.0))
