"""Constrained GRPO: rewards less priced costs, at the prices of `agentevol.learn.constraints`.

A token of an episode with A_reward 1 and a harm of 0.5 above its group's mean, at a price of 2 for harm:

    (1 - 2 * 0.5) / (1 + 2) = 0
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from agentevol.core.algorithms.contract import Advantages, Floats, Rollouts
from agentevol.learn.algorithms.advantages.baselines import grpo
from agentevol.learn.algorithms.policy_gradient.family import family
from agentevol.learn.constraints import CostAdvantage, combined, cost_advantage, judged, share_of_costs


def less_costs(
    rollouts: Rollouts,
    found: Advantages,
    *,
    cost: Literal["sum", "any"] = "sum",
    cost_baseline: Literal["group", "batch"] = "group",
    cost_std_norm: bool = False,
) -> Advantages:
    """(A_reward - sum of price * A_cost) / (1 + sum of prices), the prices being `rollouts.multipliers`.

    Safe RLHF (Dai et al., 2023, arXiv:2310.12773). `any` makes a cost 1 as soon as it occurs. Costs are
    centred in their group, or in the whole update, so that groups of equal costs carry a signal too;
    `cost_std_norm` divides them by their own standard deviation.
    """
    costs = {name: judged(values, cost) for name, values in rollouts.costs.items()}
    apart = {
        name: cost_advantage(values, rollouts.group, baseline=cost_baseline, std_norm=cost_std_norm)
        for name, values in costs.items()
    }
    by_token = {name: one.advantage[rollouts.sequence] for name, one in apart.items()}
    advantage = combined(found.advantage, by_token, rollouts.multipliers)
    share = share_of_costs(found.advantage, by_token, rollouts.multipliers)
    metrics = {**found.metrics, "cost_share": share, **_figures(rollouts, costs, apart)}
    return replace(found, advantage=advantage, metrics=metrics)


def _figures(
    rollouts: Rollouts, costs: Mapping[str, Floats], apart: Mapping[str, CostAdvantage]
) -> dict[str, float]:
    """Metrics of costs together with the return of cost-free episodes: neither is meaningful alone."""
    found: dict[str, float] = {}
    harmless_J = np.ones(len(rollouts.group), dtype=np.bool_)
    for name, values in costs.items():
        known = values[np.isfinite(values)]
        harmless_J &= values == 0
        if len(known):
            found |= {
                f"cost_{name}": float(known.mean()),
                f"violation_rate_{name}": float((known > 0).mean()),
            }
        groups = len(set(rollouts.group))
        found[f"frac_groups_equally_costly_{name}"] = len(apart[name].silent) / groups
    found |= {f"multiplier_{name}": value for name, value in rollouts.multipliers.items()}
    if harmless_J.any():
        found["reward_without_cost"] = float(rollouts.returns[harmless_J].mean())
    return found


ALGORITHM = family(grpo, corrections=(less_costs,), aggregation="seq_mean_token_mean", kl_coef=0.001)
