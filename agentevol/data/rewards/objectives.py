"""Objectives of episodes by name: the targets of the heads of reward models and process reward models.

    outcome            the return
    success            1 or 0
    efficiency         the return per turn: 1 for a success at once, 1/4 for one in four turns
    safety             1 without, 0 with any of the costs that the environment reports
    turns, tokens, invalid_actions, and the costs that the environment reports              negated
    scores of the environment in `info["scores"]`, from 0 to 1; the last turn that has a name counts

Higher is better everywhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from typing import cast

import numpy as np

from agentevol.config.rewards.process import ALWAYS
from agentevol.core.algorithms.contract import Floats
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.data.groups import start_of
from agentevol.data.training_sequences import COUNTED, costs
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.rewards.labels import by_head, compared
from agentgym_store.records import Trajectory


def achieved(trajectories: Iterable[Trajectory], names: Sequence[str]) -> dict[str, Floats]:
    """Episode -> (D,) value of each objective; NaN where it is unknown, and throughout without a return.

    An episode without a cost that others report has a cost of 0. Raises `ConfigError` for a name that no
    episode reports.
    """
    episodes = list(trajectories)
    named_costs = {name for trajectory in episodes for name in costs(trajectory)}
    known = {*ALWAYS, *named_costs, *(name for trajectory in episodes for name in told_scores(trajectory))}
    for name in names:
        if name not in known:
            raise ConfigError(f"no episode says anything of {name!r}; there are: {', '.join(sorted(known))}")
    return {
        trajectory.id: np.asarray([_achieved(trajectory, name, named_costs) for name in names], np.float64)
        for trajectory in episodes
    }


def told_scores(trajectory: Trajectory) -> dict[str, float]:
    """Scores that the environment reported in `info["scores"]`."""
    found: dict[str, float] = {}
    for turn in trajectory.turns:
        told = turn.info.get("scores")
        for name, score in cast("Mapping[str, object]", told).items() if isinstance(told, Mapping) else ():
            if isinstance(score, int | float):
                found[name] = float(score)
    return found


def for_reward_model(
    sequences: Sequence[TrainingSequence],
    trajectories: Iterable[Trajectory],
    objectives: Sequence[str],
    members: int,
) -> list[TrainingSequence]:
    """Training sequences of pairs with labels for the heads; their groups are tasks, so that members resample
    tasks. They have no policy version, so that they are not compared with the engine.

    A label sits on the last learnt token of a side. Without objectives there are none: the chosen side is
    better. Raises `NothingToLearn` for an objective in which no pair differs.
    """
    by_id = {trajectory.id: trajectory for trajectory in trajectories}
    grouped = [_by_task(sequence, by_id[sequence.trajectory_id]) for sequence in sequences]
    if not objectives:
        return grouped
    told = achieved(by_id.values(), objectives)
    sides = {(sequence.unit, sequence.side): told[sequence.trajectory_id] for sequence in sequences}
    labels = {
        (unit, side): by_head(_own_side(side, sides[unit, 1], sides[unit, -1]), members)
        for unit, side in sides
    }
    known_H = np.any(np.isfinite(list(labels.values())), axis=0).tolist()
    for name, known in zip(objectives, known_H[::members], strict=True):
        if not known:
            raise NothingToLearn(
                f"no pair differs in {name!r}: pairs.tie_breaks=true makes pairs of equal return too"
            )
    last = {
        (sequence.unit, sequence.side): number
        for number, sequence in enumerate(sequences)
        if sequence.mask.any()
    }
    return [
        _labelled(
            sequence,
            labels[sequence.unit, sequence.side],
            last=last.get((sequence.unit, sequence.side)) == number,
        )
        for number, sequence in enumerate(grouped)
    ]


def _achieved(trajectory: Trajectory, name: str, named_costs: set[str]) -> float:
    outcome = trajectory.total_reward
    if outcome is None:
        return nan
    match name:
        case "outcome":
            return outcome
        case "success":
            return float(trajectory.succeeded())
        case "efficiency":
            return outcome / max(1, len(trajectory.turns))
        case "safety":
            told = [cost for name, cost in costs(trajectory).items() if name not in COUNTED]
            if any(cost > 0 for cost in told):
                return 0.0
            return nan if any(map(isnan, told)) else 1.0
    if name in named_costs:
        return -costs(trajectory).get(name, 0.0)
    return told_scores(trajectory).get(name, nan)


def _own_side(side: int, chosen_D: Floats, rejected_D: Floats) -> Floats:
    both = compared(chosen_D, rejected_D)
    return both[0] if side == 1 else both[1]


def _by_task(sequence: TrainingSequence, trajectory: Trajectory) -> TrainingSequence:
    unknown = np.full(len(sequence.token_ids), np.nan, np.float32)
    sequence = replace(sequence, rollout_logp=unknown, policy_version=None)
    if sequence.episode is None:
        return sequence
    return replace(
        sequence, episode=replace(sequence.episode, group=f"{trajectory.env}/{start_of(trajectory)}")
    )


def _labelled(sequence: TrainingSequence, label_H: Floats, *, last: bool) -> TrainingSequence:
    labels = np.full((len(sequence.token_ids), len(label_H)), np.nan, np.float32)
    if last:
        labels[sequence.mask.nonzero()[0][-1]] = label_H
    return replace(sequence, labels=labels)
