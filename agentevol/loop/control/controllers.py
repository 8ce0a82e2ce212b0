"""Controllers of settings that adapt during a run: cost multipliers, KL coefficient and episode length.

Each is a function of the run's records so far, so that a resumed run has the same settings.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from agentevol.config.sections.constraints import Constraint
from agentevol.config.sections.exploration import HorizonConfig
from agentevol.config.sections.learner import KLTarget
from agentevol.core.summaries import IterationSummary
from agentevol.data.selection.filters import scored
from agentevol.data.training_sequences import costs
from agentevol.learn.constraints import Multiplier, judged, started, stepped
from agentevol.rollout.horizon import gated_turn_limit, turn_limit
from agentgym_store.records import Trajectory


def multipliers(
    constraints: Mapping[str, Constraint],
    explored: Iterable[Sequence[Trajectory]],
    cost: str = "sum",
    before: Mapping[str, Multiplier] | None = None,
) -> dict[str, Multiplier]:
    """Multiplier of every constrained cost after these iterations, each with all of its explored episodes.

    With `cost` any, an episode costs 1 or 0, as for the policy (`learn.options.cost`). `before` are the
    multipliers after the earlier iterations; None for none.
    """
    found = dict(before or {name: started(constraint) for name, constraint in constraints.items()})
    for trajectories in explored:
        told = [costs(trajectory) for trajectory in scored(trajectories)]
        for name, constraint in constraints.items():
            own = np.asarray([one.get(name, 0.0) for one in told], dtype=np.float64)
            found[name] = stepped(found[name], constraint, judged(own, cost).tolist())
    return found


def price_figures(found: Mapping[str, Multiplier]) -> dict[str, float]:
    """The mean cost of each multiplier's updates, once there is one, and whether the multiplier is at its
    maximum.
    """
    means = {f"mean_cost_{name}": one.mean_cost for name, one in found.items() if one.mean_cost is not None}
    return means | {f"constraint_infeasible_{name}": float(one.infeasible) for name, one in found.items()}


def kl_coefficient(initial: float, target: KLTarget, earlier: Iterable[IterationSummary]) -> float:
    """KL coefficient after these iterations (`agentevol.learn.algorithms.losses.kl.AdaptiveKL`)."""
    from agentevol.learn.algorithms.losses.kl import AdaptiveKL  # torch loads only when a run starts

    controller = AdaptiveKL(initial, target.target, target.horizon)
    for summary in earlier:
        if "kl" in summary.learn:
            controller = controller.updated(summary.learn["kl"], summary.selected)
    return controller.coef


def turns_allowed(
    horizon: HorizonConfig | None, iteration: int, earlier: Iterable[IterationSummary]
) -> int | None:
    """Maximum turns of an explored episode in this iteration, from 1; None for no limit."""
    if horizon is None:
        return None
    if horizon.success is None:
        return turn_limit(iteration - 1, horizon.rounds, horizon.every)
    rates = [_success(summary) for summary in earlier]
    return gated_turn_limit(
        [rate for rate in rates if rate is not None], horizon.rounds, horizon.success, horizon.every
    )


def _success(summary: IterationSummary) -> float | None:
    """Success on the validation tasks at the full horizon; the held-out tasks of the report are not used."""
    found = summary.validation
    return found.successes / found.n if found is not None and found.n else None
