"""R3 reward of every turn: alpha * return of the episode, at its last turn, + beta * value difference.

Two samples of a task, returns 1 and 0, so V(start) = 0.5; the model gives 0.75 after the first of two turns:

    value before     0.5    0.75   (1 at the end)
    difference      +0.25  +0.25
    reward           0.125  1.125      with alpha 1 and beta 0.5

The third part of R3, the KL penalty, is the algorithm's own (`kl`, `kl_coef`).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from agentevol.core.algorithms.contract import Floats
from agentevol.core.protocols import EpisodeFacts, TrainingSequence
from agentevol.data.groups import group_of
from agentevol.data.rewards.metrics import (
    auc,
    brier,
    calibration_error,
    correlation,
    cross_entropy,
    rank_correlation,
)
from agentevol.data.selection.filters import scored
from agentevol.learn.rewards.monte_carlo_values import StateValues
from agentevol.learn.rewards.process import value_differences, values_before
from agentgym_store.records import Trajectory

TurnValues = Mapping[str, Mapping[int, float]]
"""Episode -> turn -> value of the process reward model after it."""


def start_values(
    explored: Iterable[Trajectory], outcomes: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Group -> mean outcome of its episodes: the value of their common first state.

    Outcomes are returns, or those given by episode; NaN ones do not count, and the mean of none is NaN.
    """
    found: dict[str, list[float]] = {}
    for trajectory in scored(explored):
        outcome = (trajectory.total_reward or 0.0) if outcomes is None else outcomes[trajectory.id]
        found.setdefault(group_of(trajectory), []).extend([] if math.isnan(outcome) else [outcome])
    return {group: float(np.mean(values)) if values else math.nan for group, values in found.items()}


def step_rewards(
    episodes: Mapping[str, EpisodeFacts],
    values: TurnValues,
    starts: Mapping[str, float],
    *,
    outcomes: Mapping[str, float] | None = None,
    discount: float = 1.0,
) -> dict[str, Floats]:
    """Episode -> (turns,) value differences; a turn without a value keeps the previous one.

    `outcomes` are the values of the ends, by episode; None takes the returns. An episode whose outcome is NaN
    has NaN throughout.
    """
    if not episodes:
        return {}
    counts = [len(episode.rewards) for episode in episodes.values()]
    start = np.asarray([starts[episode.group] for episode in episodes.values()])
    outcome = np.asarray(
        [sum(episode.rewards) if outcomes is None else outcomes[name] for name, episode in episodes.items()],
        dtype=np.float64,
    )
    after = [
        _carried(values.get(name, {}), len(episode.rewards), starts[episode.group])
        for name, episode in episodes.items()
    ]
    sequence = np.repeat(np.arange(len(counts)), counts)
    before = values_before(np.concatenate(after), sequence, start)
    differences = value_differences(before, sequence, outcome, discount=discount)
    differences = np.where(np.isnan(outcome)[sequence], np.nan, differences)
    return dict(zip(episodes, np.split(differences, np.cumsum(counts)[:-1]), strict=True))


def shaped(
    sequences: Sequence[TrainingSequence], steps: Mapping[str, Floats], *, alpha: float, beta: float
) -> list[TrainingSequence]:
    """Training sequences with R3 in place of the environment's rewards."""
    return [
        replace(sequence, episode=_shaped(sequence, steps[sequence.trajectory_id], alpha, beta))
        for sequence in sequences
    ]


def episodes_of(sequences: Iterable[TrainingSequence]) -> dict[str, EpisodeFacts]:
    """Facts of every episode that has training sequences."""
    return {
        sequence.trajectory_id: sequence.episode for sequence in sequences if sequence.episode is not None
    }


def length_correlation(steps: Mapping[str, Floats]) -> float:
    """Correlation of an episode's sum of step rewards with its number of turns; NaN where either is
    constant.
    """
    sums = np.asarray([rewards.sum() for rewards in steps.values()])
    return correlation(sums, np.asarray([len(rewards) for rewards in steps.values()], dtype=np.float64))


def agreement(values: TurnValues, counted: StateValues) -> dict[str, float]:
    """Agreement of the model's values with the counted ones; NaN without a common state.

    For the AUC, states with a value above one half are the positives.
    """
    pairs = [
        (values[episode][turn], value.value)
        for episode, turns in counted.items()
        for turn, value in turns.items()
        if turn in values.get(episode, {})
    ]
    said, label = np.asarray(pairs, dtype=np.float64).reshape(-1, 2).T
    return {
        "process_bce": cross_entropy(said, label),
        "process_brier": brier(said, label),
        "process_auc": auc(said, label),
        "process_calibration_error": calibration_error(said, label),
        "process_rank_correlation": rank_correlation(said, label),
    }


def _carried(values: Mapping[int, float], turns: int, start: float) -> Floats:
    """(turns,) value after each turn, or else the last known one."""
    after = np.empty(turns)
    known = start
    for turn in range(turns):
        after[turn] = known = values.get(turn, known)
    return after


def _shaped(sequence: TrainingSequence, step_S: Floats, alpha: float, beta: float) -> EpisodeFacts | None:
    if sequence.episode is None:
        return None
    rewards = beta * step_S
    rewards[-1] += alpha * sum(sequence.episode.rewards)
    return replace(sequence.episode, rewards=tuple(rewards.tolist()))
