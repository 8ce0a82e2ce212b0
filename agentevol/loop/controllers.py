"""Settings that follow the run: prices of costs, the KL coefficient, how long episodes may be.

Each is a function of what the run has recorded so far, so that a run that is resumed has the same ones.
"""

from collections.abc import Iterable, Mapping, Sequence

from agentevol.config.sections import HorizonConfig, KLTarget
from agentevol.learn.algorithms.horizon import gated_turn_limit, turn_limit
from agentevol.learn.constraints import Constraint, Multiplier, started, stepped
from agentevol.loop.select import scored
from agentevol.report.summary import IterationSummary
from agentevol.rows.examples import costs
from agentgym_store.records import Trajectory


def multipliers(
    constraints: Mapping[str, Constraint], explored: Iterable[Sequence[Trajectory]]
) -> dict[str, Multiplier]:
    """The price of every constrained cost after these iterations, each with all of its explored episodes."""
    found = {name: started(constraint) for name, constraint in constraints.items()}
    for trajectories in explored:
        told = [costs(trajectory) for trajectory in scored(trajectories)]
        for name, constraint in constraints.items():
            found[name] = stepped(found[name], constraint, [own.get(name, 0.0) for own in told])
    return found


def kl_coefficient(initial: float, target: KLTarget, earlier: Iterable[IterationSummary]) -> float:
    """The coefficient after these iterations (`agentevol.learn.algorithms.kl.AdaptiveKL`)."""
    from agentevol.learn.algorithms.kl import AdaptiveKL  # torch loads only when a run starts

    controller = AdaptiveKL(initial, target.target, target.horizon)
    for summary in earlier:
        if "kl" in summary.learn:
            controller = controller.updated(summary.learn["kl"], summary.selected)
    return controller.coef


def turns_allowed(horizon: HorizonConfig, iteration: int, earlier: Iterable[IterationSummary]) -> int | None:
    """The most turns of an explored episode in this iteration, from 1; None where nothing is said."""
    if not horizon.rounds:
        return None
    if horizon.success is None:
        return turn_limit(iteration - 1, horizon.rounds, horizon.every)
    rates = [_success(summary) for summary in earlier]
    return gated_turn_limit(
        [rate for rate in rates if rate is not None], horizon.rounds, horizon.success, horizon.every
    )


def _success(summary: IterationSummary) -> float | None:
    """On the validation tasks: at the full horizon, and not those that are reported."""
    found = summary.validation
    return found.successes / found.n if found is not None and found.n else None
