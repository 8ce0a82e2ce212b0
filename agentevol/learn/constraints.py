"""Constraints on expected costs: Lagrangian multipliers that keep mean costs below their limits.

Each cost has a price, its multiplier. After every batch it changes by the learning rate times the excess of
the mean cost over the limit: from 0.5 with a learning rate of 0.05, a mean of 0.4 and a limit of 0.2 to 0.5 +
0.05 * 0.2 = 0.51. The policy then learns from (A_reward - sum of price * A_cost) / (1 + sum of prices), with
prices fixed (Safe RLHF, Dai et al., 2023, arXiv:2310.12773).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from math import exp, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from agentevol.config.sections.constraints import Constraint
from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]

SAME = 1e-8
"""Tolerance of equal costs: division by their standard deviation would amplify rounding noise."""


@dataclass(frozen=True)
class Multiplier:
    """Price of a cost, and the state of its update rule."""

    value: float = 0.0
    costs: tuple[float, ...] = ()
    """Costs of the latest episodes."""
    mean_cost: float | None = None
    """Mean cost at the last update; None before the first."""
    error_sum: float = 0.0
    """Sum of mean cost - limit over the updates, never below 0, in `pid` form."""
    infeasible: bool = False
    """True if the multiplier is at its maximum: report `constraint_infeasible`; the limit should be
    reconsidered.
    """


def started(constraint: Constraint) -> Multiplier:
    """Return the multiplier before the first batch."""
    if constraint.form != "pid" or constraint.integral == 0:
        return Multiplier(value=constraint.initial)
    return Multiplier(value=constraint.initial, error_sum=constraint.initial / constraint.integral)


def stepped(multiplier: Multiplier, constraint: Constraint, costs: Sequence[float]) -> Multiplier:
    """Return the multiplier after a batch of episodes with these costs; NaN is a cost that was not judged.

    `costs` are of all episodes explored, before any group is filtered out; an episode without a recorded
    cost costs 0. The mean is taken over the batch, or over the latest `window` if those are more.
    """
    known = tuple(float(cost) for cost in costs if isfinite(cost))
    if any(cost < 0 for cost in known):
        raise ConfigError(f"costs are at least 0, not {min(known)}")
    latest = (multiplier.costs + known)[-max(constraint.window, len(known)) :]
    kept = latest[-constraint.window :]
    if not known or len(latest) < constraint.window:
        return replace(multiplier, costs=kept)
    mean = sum(latest) / len(latest)
    error_sum = max(0.0, multiplier.error_sum + mean - constraint.limit)
    value = _clipped(_target(multiplier, constraint, mean, error_sum), constraint.maximum)
    return Multiplier(value, kept, mean, error_sum, infeasible=value >= constraint.maximum)


def _target(multiplier: Multiplier, constraint: Constraint, mean: float, error_sum: float) -> float:
    """Updated value of the multiplier, before bounds."""
    error = mean - constraint.limit
    if constraint.form == "plain":
        return multiplier.value + constraint.learning_rate * error
    if constraint.form == "log":
        return multiplier.value * exp(min(constraint.learning_rate * error, 700.0))
    rise = 0.0 if multiplier.mean_cost is None else max(0.0, mean - multiplier.mean_cost)
    return constraint.proportional * error + constraint.integral * error_sum + constraint.derivative * rise


def _clipped(value: float, maximum: float) -> float:
    return min(max(value, 0.0), maximum)


def to_json(multipliers: Mapping[str, Multiplier]) -> str:
    """Serialise multipliers by the name of their cost; `from_json` restores them."""
    return json.dumps({name: asdict(multiplier) for name, multiplier in multipliers.items()}, sort_keys=True)


def from_json(text: str) -> dict[str, Multiplier]:
    """Restore the multipliers from `to_json`; raises `ConfigError` for anything else."""
    try:
        return TypeAdapter(dict[str, Multiplier]).validate_json(text)
    except ValidationError as cause:
        raise ConfigError(f"not a state of multipliers: {cause.errors()[0]['msg']}") from cause


def judged(costs_J: Floats, cost: str) -> Floats:
    """Costs of episodes, or with `any` 1 where there was one; NaN, a cost that was not judged, stays NaN."""
    return np.where(np.isnan(costs_J), np.nan, costs_J > 0) if cost == "any" else costs_J


@dataclass(frozen=True)
class CostAdvantage:
    """Cost of each episode relative to its baseline."""

    advantage: Floats
    """(J,) cost less its baseline."""
    silent: frozenset[str] = field(default_factory=frozenset[str])
    """Groups whose episodes all have the same cost above 0: centred in the group they carry no signal."""


def cost_advantage(
    cost_J: Floats,
    groups: Sequence[str],
    *,
    baseline: Literal["group", "batch"] = "group",
    std_norm: bool = False,
) -> CostAdvantage:
    """Cost less the mean cost of the group or the whole batch; 0 where it is NaN or all are equal.

    `std_norm` divides by the standard deviation (ddof 1) of the same episodes. Costs are centred separately
    from rewards: the mean of reward - price * cost would hide a change of the price.
    """
    known = np.isfinite(cost_J)
    names = np.asarray(groups if baseline == "group" else [""] * len(groups))
    advantage = np.zeros(len(cost_J))
    for name in np.unique(names):
        rows = (names == name) & known
        advantage[rows] = _centred(cost_J[rows], std_norm)
    silent = {group for group in set(groups) if _is_silent(cost_J[(np.asarray(groups) == group) & known])}
    return CostAdvantage(advantage, frozenset(silent))


def _centred(costs: Floats, std_norm: bool) -> Floats:
    if len(costs) < 2 or np.ptp(costs) <= SAME:
        return np.zeros(len(costs))
    return (costs - costs.mean()) / (costs.std(ddof=1) if std_norm else 1.0)


def _is_silent(costs: Floats) -> bool:
    return len(costs) > 0 and float(costs.min()) > 0 and float(np.ptp(costs)) <= SAME


def combined(
    reward_advantage: Floats, cost_advantages: Mapping[str, Floats], multipliers: Mapping[str, float]
) -> Floats:
    """(A_reward - sum of multiplier * A_cost) / (1 + sum of multipliers).

    A multiplier whose cost was not observed counts in the denominator alone.
    """
    if any(value < 0 for value in multipliers.values()):
        raise ConfigError(f"multipliers are at least 0, unlike {dict(multipliers)}")
    total = np.array(reward_advantage, dtype=np.float64)
    for name, advantage in cost_advantages.items():
        total -= multipliers.get(name, 0.0) * advantage
    return total / (1.0 + sum(multipliers.values()))


def share_of_costs(
    reward_advantage: Floats, cost_advantages: Mapping[str, Floats], multipliers: Mapping[str, float]
) -> float:
    """Share of costs in the absolute advantages, in [0, 1]; 0 where all are 0."""
    of_costs = sum(
        multipliers.get(name, 0.0) * float(np.abs(advantage).sum())
        for name, advantage in cost_advantages.items()
    )
    total = of_costs + float(np.abs(reward_advantage).sum())
    return of_costs / total if total > 0 else 0.0
