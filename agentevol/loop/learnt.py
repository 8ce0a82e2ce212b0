"""What an iteration learns from: new, earlier and expert rows of each environment, and how old they are.

6 rows of this iteration, 2 of an earlier one and 4 of demonstrations, all of weight 1, are

    {"guess": {"rows_new": 6, "rows_earlier": 2, "rows_expert": 4, "explored_to_expert": 2.0,
               "token_share": 1.0, "mean_weight": 1.0, "effective_sample_size": 12.0}}
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np

from agentevol.learn.algorithms.weights import effective_sample_size
from agentevol.protocols import TrainingSequence
from agentgym_store.records import Trajectory

Versions = dict[str, list[int | None]]
"""Episode -> version of the weights that sampled each of its turns; None for scripted ones."""


def learnt_figures(
    rows: Iterable[TrainingSequence],
    *,
    new: Set[str],
    expert: Set[str],
    environment: str,
    environments: Mapping[str, str],
) -> dict[str, dict[str, float]]:
    """By environment: rows by source, the share of all learnt tokens (`replay.floor` is the least of it that
    a replayed environment should have), what weights come to, and explored rows for each of the expert's.

    `new` and `expert` are ids of episodes; the others are of earlier iterations or retained. `environments`
    names that of an episode which is not of `environment`, the run's own. `explored_to_expert` (|D_m| / |D_s|
    of AgentEvol) is there only where the expert has rows.
    """
    found: dict[str, list[TrainingSequence]] = defaultdict(list)
    for row in rows:
        found[environments.get(row.trajectory_id, environment)].append(row)
    tokens = {name: sum(int(row.mask.sum()) for row in own if row.weight > 0) for name, own in found.items()}
    whole = sum(tokens.values())
    shares = {name: {"token_share": count / whole} if whole else {} for name, count in tokens.items()}
    return {name: shares[name] | _figures(found[name], new, expert) for name in sorted(found)}


def _figures(rows: Sequence[TrainingSequence], new: Set[str], expert: Set[str]) -> dict[str, float]:
    ids = [row.trajectory_id for row in rows]
    fresh, shown = sum(name in new for name in ids), sum(name in expert for name in ids)
    weights = [row.weight for row in rows]
    ratio = {"explored_to_expert": (len(rows) - shown) / shown} if shown else {}
    return {
        "rows_new": float(fresh),
        "rows_earlier": float(len(rows) - fresh - shown),
        "rows_expert": float(shown),
        **ratio,
        "mean_weight": sum(weights) / len(weights),
        "effective_sample_size": effective_sample_size(weights),
    }


def versions(episodes: Iterable[Trajectory]) -> Versions:
    """Which weights sampled each turn of the episodes."""
    return {t.id: [turn.sample.policy_version if turn.sample else None for turn in t.turns] for t in episodes}


def version_lag(rows: Iterable[TrainingSequence], sampled_by: Versions, newest: int) -> dict[str, float]:
    """Updates between the weights that sampled a learnt turn and version `newest`: mean and maximum.

    Episodes that are not in `sampled_by` (another run's policy played them, or a script) have no age. Nothing
    where no learnt turn has one.
    """
    lags: list[int] = []
    for row in rows:
        if row.turn is not None and row.trajectory_id in sampled_by:
            by_turn = sampled_by[row.trajectory_id]
            found = (by_turn[turn] for turn in np.unique(row.turn[row.mask]).tolist())
            lags += [newest - version for version in found if version is not None]
    if not lags:
        return {}
    return {"policy_version_lag_mean": sum(lags) / len(lags), "policy_version_lag_max": float(max(lags))}


def staleness(lag: Mapping[str, float]) -> str:
    """What `version_lag` found, in words."""
    mean, most = lag["policy_version_lag_mean"], lag["policy_version_lag_max"]
    return f"learnt turns are {mean:.2f} updates old on average, {most:.0f} at most"
