"""Operations on generated opinions, each measured in a process of its own.

python -m agentevol.cli.benchmarks.feedback.work append FOLDER 100000
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from agentevol.cli.benchmarks.feedback.records import opinions
from agentevol.cli.benchmarks.store import work as store_work
from agentevol.cli.benchmarks.store.episodes import TURNS
from agentevol.cli.benchmarks.store.work import Clock
from agentevol.config.self_evolution.feedback import FeedbackConfig
from agentevol.data.feedback.aggregation.aggregate import labels, preferences, scores
from agentevol.data.feedback.aggregation.ratings import of_scores
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store, Where

APPENDS = 100
"""Appends in which the opinions are written."""
RULES: Mapping[str, dict[str, object]] = {
    "mean": {},
    "weighted": {"weights": {"human": 3.0, "judge": 1.0}},
    "pessimistic": {"kappa": 2.0},
    "reliability": {},
}


def append(folder: Path, count: int, clock: Clock) -> int:
    """Append the opinions in a hundred appends; their generation is not measured."""
    names = [name for (name,) in Store.open(folder / "table", create=False).rows(["id"])]
    records, table = list(opinions(count, names, TURNS)), _table(folder)
    size = max(1, count // APPENDS)
    clock.start()
    for start in range(0, count, size):
        table.append(records[start : start + size])
    clock.stop()
    return count


def read(folder: Path, _: int, clock: Clock) -> int:
    """All opinions, and those of them that stand."""
    clock.start()
    found = standing(_table(folder).records())
    clock.stop()
    return len(found)


def aggregate(rule: str, folder: Path, _: int, clock: Clock) -> int:
    """Scores of episodes and turns, labels of episodes, and preferences, by this rule."""
    found = standing(_table(folder).records())
    how = FeedbackConfig.model_validate({"sources": ["human", "judge"], "aggregate": rule, **RULES[rule]})
    clock.start()
    by_turn = scores(of_scores(found, lambda one: (one.trajectory_id, one.turn)), how)
    labelled = labels(of_scores(one for one in found if one.turn is None), how)
    preferred = preferences(found, how)
    clock.stop()
    return len(by_turn.values) + len(labelled.values) + len(preferred.probability)


def join_episodes(folder: Path, _: int, clock: Clock) -> int:
    """Returns and tokens of the episodes with an opinion, as `agentevol feedback stats` reads them."""
    found, store = standing(_table(folder).records()), Store.open(folder / "table", create=False)
    clock.start()
    names = sorted({one.trajectory_id for one in found})
    rows = list(store.rows(["id", "total_reward", "sampled_tokens"], Where(ids=names)))
    clock.stop()
    return len(rows)


def join_turns(folder: Path, _: int, clock: Clock) -> int:
    """The scored turns with their actions, of all turns of the table."""
    found, store = standing(_table(folder).records()), Store.open(folder / "table", create=False)
    clock.start()
    scored = scores(of_scores(_of_turns(found), lambda one: (one.trajectory_id, one.turn))).values
    rows = [(name, turn + 1, value) for (name, turn), value in scored.items()]  # from 1 in columns
    told = pl.DataFrame(rows, schema=JOINED, orient="row")
    joined = sum(len(part.join(told, on=["id", "turn"])) for part in store.turns(["id", "turn", "action"]))
    clock.stop()
    return joined


JOINED = {"id": pl.String, "turn": pl.Int64, "score": pl.Float64}


def _of_turns(found: Sequence[Feedback]) -> list[Feedback]:
    return [one for one in found if one.turn is not None]


def _table(folder: Path) -> FeedbackTable:
    return FeedbackTable.beside(folder / "table")


def _episodes(folder: Path, count: int, clock: Clock) -> int:
    """The table of trajectories, which is made first: `count` are its episodes."""
    return store_work.append(folder, count, clock)


EPISODES = "episodes"
OPERATIONS: dict[str, Callable[[Path, int, Clock], int]] = {
    EPISODES: _episodes,
    "append": append,
    "read": read,
    **{f"aggregate by {rule}": partial(aggregate, rule) for rule in RULES},
    "join with episodes": join_episodes,
    "join with turns": join_turns,
}
"""Operations in the order in which they are measured: the first two make the tables."""

if __name__ == "__main__":
    store_work.main(sys.argv[1:], OPERATIONS)
