"""State values pooled over episodes of a task, for environments that cannot be replayed.

Four episodes of a task read "You are in the kitchen." at some turn, and three of them succeeded: 3/4.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from agentevol.learn.rewards.continuations import StateValue, pooled
from agentevol.loop.select import scored
from agentevol.rewards.values import Counted, outcome_of
from agentevol.rows.examples import facts
from agentgym_store.records import Trajectory


def pooled_values(
    explored: Iterable[Trajectory], outcomes: Mapping[str, float] | None = None, *, at_least: int = 3
) -> Counted:
    """Values of the states that at least `at_least` episodes of a task passed through, from their outcomes.

    For environments that cannot be replayed. States are identified by their texts. Every state that an
    episode passed through before its last turn counts as one to be valued.
    """
    episodes = [t for t in scored(explored) if not math.isnan(outcome_of(t, outcomes))]
    anchors = [facts(t).anchors for t in episodes]
    places = [(number, turn) for number, t in enumerate(episodes) for turn in range(len(t.turns) - 1)]
    found = pooled(
        [(episodes[n].env, episodes[n].task_id, anchors[n][turn + 1]) for n, turn in places],
        np.asarray([number for number, _ in places], dtype=np.int64),
        [round(outcome_of(t, outcomes), 9) for t in episodes],
        at_least=at_least,
    )
    values: dict[str, dict[int, StateValue]] = {}
    for (number, turn), value in zip(places, found, strict=True):
        if value is not None:
            values.setdefault(episodes[number].id, {})[turn] = value
    return Counted(values, len(places), mismatched=0)
