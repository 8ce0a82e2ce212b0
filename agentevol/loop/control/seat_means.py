"""Means of returns by seat and world over a run's rounds (`learn.options.baseline = "seat"`).

They are a function of the explored episodes in the table, so that a resumed run has the same ones.
"""

import polars as pl

from agentevol.core.algorithms.registry import objective
from agentevol.data.seat_baselines import Played, SeatMean, followed
from agentevol.loop.state.run_folder import RunFolder
from agentgym_store.store import Where


class RunSeatMeans:
    """Means of one run; each round is read once, without its turns."""

    def __init__(self, folder: RunFolder) -> None:
        learn = folder.config.learn
        self._store = folder.store
        self._on = objective(learn.algorithm, learn.options).options.get("baseline") == "seat"
        self._after: list[dict[str, SeatMean]] = [{}]
        """Means after each round; number 0 is before the first."""

    def before(self, iteration: int) -> dict[str, SeatMean]:
        """Means of the returns in the rounds before this one, which are complete; empty where nothing reads
        them.
        """
        if not self._on:
            return {}
        while len(self._after) < iteration:
            _, means = followed(self._round(len(self._after)), self._after[-1])
            self._after.append(means)
        return self._after[iteration - 1]

    def figures(self, iteration: int) -> dict[str, float]:
        """Means that an iteration begins with: `baseline_social_seat_0`."""
        known = {name: mean.value for name, mean in self.before(iteration).items()}
        return {
            f"baseline_{name.replace(' ', '_')}": value for name, value in known.items() if value is not None
        }

    def _round(self, iteration: int) -> list[Played]:
        """Explored episodes of a round that have a return and begin at the start of their task."""
        frame = self._store.scan(Where(purpose="explore", iteration=iteration))
        whole = pl.col("parent").is_null() & (pl.col("given_turns").fill_null(0) == 0)
        scored = pl.col("total_reward").is_not_null() & (pl.col("turn_count") > 0)
        columns = frame.filter(whole & scored).select(
            "id", "env", pl.col("seat").fill_null(0), "total_reward"
        )
        return [Played(*row) for row in columns.collect().iter_rows()]
