"""Identity preference optimisation: regression of the difference between a pair's sides to a fixed width."""

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.core.algorithms.options import Positive
from agentevol.learn.algorithms.losses.comparisons import averages, pair_metrics, pairs


def ipo(batch: Batch, *, beta: Positive = 0.1, length_normalize: bool = True) -> Loss:
    """Mean over pairs of (c - r - 1 / (2 beta))^2, eq. 17 of Azar et al., 2023 (arXiv:2310.12036).

    c and r are the means of logp - ref_logp over the learnt tokens of the chosen and the rejected side.
    Without `length_normalize` they are sums, as in the paper; the means are TRL's form, in which the width
    1 / (2 beta) does not depend on how long episodes are.
    """
    chosen_U, rejected_U = pairs(batch)
    log_ratio_J = batch.sums(batch.logp - batch.ref_logp)
    scored_J = log_ratio_J / batch.lengths if length_normalize else log_ratio_J
    loss_U = (scored_J[chosen_U] - scored_J[rejected_U] - 1 / (2 * beta)) ** 2
    return Loss(
        loss_U.sum() / batch.totals.units,
        pair_metrics(batch, beta * scored_J)
        | averages(batch.totals.units, {"log_ratio_chosen": log_ratio_J[chosen_U]}),
    )


ALGORITHM = Algorithm(loss=ipo, data="pairs", together="unit", needs={"ref_logp": None})
