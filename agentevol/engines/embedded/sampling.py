"""Token sampling: temperature, nucleus and log-probabilities for a batch with separate parameters for each
row.

A row draws with one uniform number that is a function of its seed and position alone, through the inverse of
the cumulative distribution: the rest of the batch cannot change it. Shapes: B rows, V vocabulary.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Draw:
    """Parameters of one sampling step, lists of length B."""

    temperatures: list[float]
    """0 is greedy."""
    top_ps: list[float]
    uniforms: list[float]
    """In [0, 1); greedy rows ignore it."""


def draw(logits_BV: torch.Tensor, rows: Draw) -> tuple[list[int], list[float]]:
    """One token per row and its natural log-probability in float32 under the distribution it was drawn from.

    A greedy row takes the most likely token and has its log-probability at temperature 1. Raises
    `ValueError` for logits that are not finite.
    """
    greedy = [temperature == 0 for temperature in rows.temperatures]
    scales = [1.0 if temperature == 0 else temperature for temperature in rows.temperatures]
    logits_BV = logits_BV.float()
    if any(scale != 1.0 for scale in scales):
        logits_BV = logits_BV / torch.tensor(scales, device=logits_BV.device)[:, None]
    logp_BV = logits_BV.log_softmax(-1)
    if any(top_p < 1 for top_p in rows.top_ps):
        # a greedy row keeps its whole distribution: truncation would only change its log-probability
        top_ps = [1.0 if row else top_p for row, top_p in zip(greedy, rows.top_ps, strict=True)]
        logp_BV = _nucleus(logp_BV, torch.tensor(top_ps, device=logp_BV.device))
    tokens_B = logp_BV.argmax(-1) if all(greedy) else _invert(logp_BV, rows.uniforms)
    if any(greedy) and not all(greedy):
        tokens_B = torch.where(torch.tensor(greedy, device=logp_BV.device), logp_BV.argmax(-1), tokens_B)
    chosen_B = logp_BV.gather(-1, tokens_B[:, None])[:, 0]
    if not bool(chosen_B.isfinite().all()):
        raise ValueError("the model's logits are not finite; its weights are broken")
    return tokens_B.tolist(), chosen_B.tolist()


def _invert(logp_BV: torch.Tensor, uniforms: list[float]) -> torch.Tensor:
    """The first token at which the cumulative probability exceeds the row's number.

    In float64: the float32 sum over a large vocabulary would give its last tokens to rounding.
    """
    cumulative_BV = logp_BV.double().exp().cumsum(-1)
    targets_B = torch.tensor(uniforms, dtype=torch.float64, device=logp_BV.device) * cumulative_BV[:, -1]
    indices_B = torch.searchsorted(cumulative_BV, targets_B[:, None], right=True)[:, 0]
    return indices_B.clamp(max=logp_BV.shape[-1] - 1)  # out of range only where a row is NaN


def _nucleus(logp_BV: torch.Tensor, top_p_B: torch.Tensor) -> torch.Tensor:
    """Keep the most likely tokens up to mass `top_p` (the one that crosses it included) and renormalise.

    Holtzman et al., 2019 (arXiv:1904.09751), eq. 2. Rows with `top_p` >= 1 stay as they are.
    """
    ordered_BV, order_BV = logp_BV.sort(-1, descending=True)
    before_BV = ordered_BV.exp().cumsum(-1) - ordered_BV.exp()
    dropped_BV = before_BV >= top_p_B[:, None]
    dropped_BV[:, 0] = False  # the most likely token always stays
    dropped_BV &= (top_p_B < 1)[:, None]
    dropped_BV = torch.zeros_like(dropped_BV).scatter(-1, order_BV, dropped_BV)
    truncated_BV = logp_BV.masked_fill(dropped_BV, -torch.inf).log_softmax(-1)
    return torch.where((top_p_B < 1)[:, None], truncated_BV, logp_BV)
