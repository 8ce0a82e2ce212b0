"""Muon, orthogonalised momentum (Jordan et al. 2024; Liu et al., arXiv 2502.16982), quick on CPUs as well."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


class Muon(torch.optim.Muon):
    """torch's Muon with updates of AdamW's size; on a CPU its Newton-Schulz iterations are in float32.

    torch iterates in bfloat16. Without instructions for it, as on processors with no more than AVX2, such a
    product takes ten to forty times as long as one in float32, and most of a small model's training.
    """

    def __init__(self, params: list[torch.nn.Parameter], lr: float, weight_decay: float) -> None:
        super().__init__(params, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        if any(weight.device.type != "cpu" for group in self.param_groups for weight in group["params"]):
            return super().step(closure)
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._move(weight, weight.grad, group)
        return loss

    def _move(self, weight: Tensor, gradient: Tensor, group: Mapping[str, Any]) -> None:
        state = self.state[weight]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(gradient, memory_format=torch.preserve_format)
        average = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        update = gradient.lerp(average, group["momentum"]) if group["nesterov"] else average
        rate = group["lr"] * 0.2 * max(weight.shape) ** 0.5
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.add_(orthogonal(update.float(), group), alpha=-rate)


def orthogonal(matrix: Tensor, group: Mapping[str, Any]) -> Tensor:
    """`matrix` with its singular values brought near 1 (0.7 to 1.2), by Newton-Schulz iterations."""
    a, b, c = group["ns_coefficients"]
    wide = matrix.T if matrix.size(0) > matrix.size(1) else matrix
    wide = wide / wide.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = wide @ wide.T
        wide = torch.addmm(wide, torch.addmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.T if matrix.size(0) > matrix.size(1) else wide
