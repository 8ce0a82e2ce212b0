"""Direct preference optimisation: raise the likelihood of a pair's chosen side above that of the rejected
one, both relative to a reference model.
"""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from torch.nn import functional

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.core.algorithms.options import NotNegative, Positive
from agentevol.learn.algorithms.losses.comparisons import averages, mean_logp, pair_metrics, pairs

if TYPE_CHECKING:
    from torch import Tensor

Mislabelled = Annotated[float, Field(ge=0, lt=0.5)]
"""Share of mislabelled pairs, below a half: from there on the rejected side would be the preferred one."""


def dpo(
    batch: Batch,
    *,
    beta: Positive = 0.1,
    form: Literal["sigmoid", "hinge"] = "sigmoid",
    label_smoothing: Mislabelled = 0.0,
    length_normalize: bool = False,
    margin_coef: NotNegative = 0.0,
    nll_coef: NotNegative = 0.0,
) -> Loss:
    """Mean over pairs of -log sigmoid(h), eq. 7 of Rafailov et al., 2023 (arXiv:2305.18290); of a pair whose
    chosen side is the better one with probability p, of -p log sigmoid(h) - (1 - p) log sigmoid(-h).

    h = beta (c - r) - margin_coef margin, where c and r are the sums of logp - ref_logp over the learnt
    tokens of the chosen and the rejected side. `hinge` takes max(0, 1 - h) (SLiC, arXiv:2305.10425).

    `label_smoothing` is the share of pairs believed to be mislabelled. `length_normalize` takes means instead
    of sums, times the mean length of the optimiser batch: sums over a long episode saturate. `margin_coef`
    requires a larger difference for pairs of a larger margin (the offset of arXiv:2402.10571). `nll_coef`
    adds the mean over pairs of the chosen side's negative mean log-probability (arXiv:2404.19733), against a
    decrease of that side's likelihood.
    """
    chosen_U, rejected_U = pairs(batch)
    log_ratio_J = batch.sums(batch.logp - batch.ref_logp)
    reward_J = beta * log_ratio_J
    if length_normalize:
        reward_J = reward_J / batch.lengths * (batch.totals.tokens / batch.totals.sequences)
    gap_U = reward_J[chosen_U] - reward_J[rejected_U] - margin_coef * batch.margin[chosen_U]
    if form == "hinge":
        loss_U = functional.relu(1 - gap_U)
    else:
        loss_U = smoothed_sigmoid(gap_U, label_smoothing, batch.preference[chosen_U])
    if nll_coef:
        loss_U = loss_U - nll_coef * mean_logp(batch)[chosen_U]
    return Loss(
        loss_U.sum() / batch.totals.units,
        pair_metrics(batch, reward_J)
        | averages(batch.totals.units, {"log_ratio_chosen": log_ratio_J[chosen_U]}),
    )


def smoothed_sigmoid(gap: "Tensor", label_smoothing: float, preference: "Tensor | float" = 1.0) -> "Tensor":
    """-log sigmoid(gap), and for the share of wrong labels -log sigmoid(-gap): of pairs with the probability
    `preference` of being right, the share `label_smoothing` is believed to be swapped.
    """
    wrong_share = preference * label_smoothing + (1 - preference) * (1 - label_smoothing)
    right, wrong = functional.logsigmoid(gap), functional.logsigmoid(-gap)
    return -(1 - wrong_share) * right - wrong_share * wrong


ALGORITHM = Algorithm(
    loss=dpo,
    data="pairs",
    together="unit",
    needs={"ref_logp": None},
    soft_pairs=("form", "sigmoid"),
    only_with={"label_smoothing": ("form", "sigmoid")},
)
