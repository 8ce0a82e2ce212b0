"""Results of a round of exploration by partner, from the table of episodes."""

from collections.abc import Iterable, Iterator

import polars as pl

from agentevol.data.groups import by_key
from agentevol.loop.league.draws import LATEST, Tally
from agentgym_store.purposes import Purpose
from agentgym_store.store import Store, Where

Row = tuple[str, str, float | None]
"""Id of an episode, name of a player in it, and that seat's return."""


def round_results(store: Store, iteration: int) -> dict[str, Tally]:
    """Tally of an iteration's explored episodes beside each partner; no turn is read."""
    return tallied(_rows(store, iteration, "explore"), _rows(store, iteration, "partner"))


def tallied(own: Iterable[Row], others: Iterable[Row]) -> dict[str, Tally]:
    """Tally of each partner, from the seats that the policy played and those of its partners.

    Episodes with a seat without a return do not count. An episode in which the policy played all seats is one
    beside the latest policy: half a win, with the mean of its returns.
    """
    beside = by_key(others, lambda row: row[0])
    found: dict[str, Tally] = {}
    for episode, rows in sorted(by_key(own, lambda row: row[0]).items()):
        theirs = beside.get(episode, [])
        returns = [reward for *_, reward in (*rows, *theirs) if reward is not None]
        if len(returns) < len(rows) + len(theirs) or len(returns) < 2:
            continue
        mine = sum(returns[: len(rows)]) / len(rows)
        name = theirs[0][1] if theirs else LATEST
        result = Tally(1.0, _won(mine, max(returns[len(rows) :])) if theirs else 0.5, mine)
        found[name] = found.get(name, Tally()).plus(result)
    return found


def _won(mine: float, other: float) -> float:
    return 0.5 if mine == other else float(mine > other)


def _rows(store: Store, iteration: int, purpose: Purpose) -> Iterator[Row]:
    frame = store.scan(Where(iteration=iteration, purpose=purpose))
    columns = frame.filter(pl.col("episode_id").is_not_null()).select("episode_id", "policy", "total_reward")
    return columns.collect().iter_rows()
