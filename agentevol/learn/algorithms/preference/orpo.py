"""Odds-ratio preference optimisation: fine-tuning on the chosen side with a penalty on the odds of the
rejected one, without a reference.
"""

from math import log
from typing import TYPE_CHECKING, Literal

import torch
from torch.nn import functional

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.core.algorithms.options import Positive
from agentevol.learn.algorithms.losses.comparisons import averages, contexts, mean_logp, pair_metrics, pairs

if TYPE_CHECKING:
    from torch import Tensor


def orpo(batch: Batch, *, beta: Positive = 0.1, nll_scope: Literal["action", "all"] = "action") -> Loss:
    """Mean over pairs of NLL(chosen) - beta log sigmoid(o), eq. 6 and 7 of Hong et al., 2024
    (arXiv:2403.07691); o is the log-odds ratio of the sides. Of a pair whose chosen side is the better one
    with probability p, the second term is -beta (p log sigmoid(o) + (1 - p) log sigmoid(-o)).

    NLL is the negative mean log-probability of the chosen side's learnt tokens. With `nll_scope` all it is
    that of the whole chosen training sequence, prompt and observations included, which is the pair's sequence
    of side 0 (`agentevol.data.auxiliary_sequences.whole_sequences`): the agent then learns to predict its
    environment. TRL's is a mean over these tokens of the batch, not of each pair.
    """
    chosen_U, rejected_U = pairs(batch)
    mean_J = mean_logp(batch)
    odds_U = log_odds_ratio(mean_J[chosen_U], mean_J[rejected_U])
    nll_U = -mean_J[chosen_U if nll_scope == "action" else contexts(batch, chosen_U)]
    preference_U = batch.preference[chosen_U]
    right_U, wrong_U = functional.logsigmoid(odds_U), functional.logsigmoid(-odds_U)
    loss_U = nll_U - beta * (preference_U * right_U + (1 - preference_U) * wrong_U)
    return Loss(
        loss_U.sum() / batch.totals.units,
        pair_metrics(batch, beta * mean_J)
        | averages(batch.totals.units, {"nll": nll_U, "log_odds_ratio": odds_U}),
    )


def log_odds_ratio(chosen: "Tensor", rejected: "Tensor") -> "Tensor":
    """log of odds(chosen) / odds(rejected), where odds(p) = p / (1 - p), from mean log-probabilities."""
    return (chosen - rejected) - (_log_complement(chosen) - _log_complement(rejected))


def _log_complement(logp: "Tensor") -> "Tensor":
    """log(1 - exp(logp)), exact at both ends; probability 1, which would give log 0, counts as 1 - 1e-7."""
    below = logp.clamp(max=-1e-7)
    return torch.where(below < -log(2), torch.log1p(-below.exp()), torch.log(-torch.expm1(below)))


ALGORITHM = Algorithm(loss=orpo, data="pairs", together="unit", soft_pairs=True)
