"""Kullback-Leibler divergence from a reference: per-token estimators, and a controller of the coefficient.

A token with logp -1 that the reference gives -1.5, so that d = 0.5:

    k1  d                 0.5       unbiased, can be negative
    k2  d^2 / 2           0.125     its gradient is the divergence's, on-policy
    k3  exp(-d) + d - 1   0.1065    at least 0, unbiased, of low variance (Schulman, 2020)
"""

from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from agentevol.core.errors import ConfigError

KL = Literal["k1", "k2", "k3", "k3_straight", "k3_weighted", "reward"]
"""`k3_straight` is k3 with the gradient of k2. `k3_weighted` is k3 times the importance ratio, which makes it
unbiased off-policy. `reward` is no term of the loss: k1 is subtracted from the rewards instead.
"""

LOG_LIMIT = 20.0
"""Clip of log-ratios to +-20 before exp: float32 overflows beyond, and such a token carries no
information.
"""

K3_LIMIT = 10.0


def k1(gap_N: Tensor) -> Tensor:
    """The log-ratio itself; `gap_N` is the policy's logp less the reference's, here and below."""
    return gap_N


def k2(gap_N: Tensor) -> Tensor:
    """Half the square of the log-ratio."""
    return gap_N.square() / 2


def k3(gap_N: Tensor) -> Tensor:
    """exp(-d) + d - 1 with d cut to +-20 and the result to at most 10, as in verl 0.9.1."""
    return _k3(gap_N).clamp(max=K3_LIMIT)


def k3_straight(gap_N: Tensor) -> Tensor:
    """The value of k3 with the gradient of k2: "k3+" in verl."""
    slope_N = k2(gap_N)
    return k3(gap_N).detach() + slope_N - slope_N.detach()


def k3_weighted(gap_N: Tensor, ratio_N: Tensor) -> Tensor:
    """k3 times the ratio to the policy that sampled, both with gradient (TRL's `use_bias_correction_kl`).

    The product is not cut to 10: where the ratio is small, k3 alone is large and the product is not.
    """
    return ratio_N * _k3(gap_N)


def _k3(gap_N: Tensor) -> Tensor:
    # d is clipped like the exponent: both saturate together
    cut_N = gap_N.clamp(-LOG_LIMIT, LOG_LIMIT)
    return (-cut_N).exp() + cut_N - 1


def divergence(kind: KL, gap_N: Tensor, ratio_N: Tensor) -> Tensor:
    """(N,) values of the estimator of this name; k1 for `reward`, whose penalty is in the rewards."""
    if kind == "k3_weighted":
        return k3_weighted(gap_N, ratio_N)
    return {"k1": k1, "k2": k2, "k3": k3, "k3_straight": k3_straight, "reward": k1}[kind](gap_N)


@dataclass(frozen=True)
class AdaptiveKL:
    """KL coefficient that tracks a target (Ziegler et al., 2019, arXiv:1909.08593, section 2.2)."""

    coef: float = 0.001
    target: float = 0.1
    """Target in nats, of the same quantity as is passed to `updated`: 0.1 fits a mean over tokens, 6 a sum
    over an episode's tokens.
    """
    horizon: float = 10_000
    """Number of sequences in which the coefficient can change by about a fifth."""

    def __post_init__(self) -> None:
        for name in ("coef", "target", "horizon"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} of the adaptive KL has to be above 0, not {getattr(self, name)}")

    def updated(self, kl: float, sequences: int) -> "AdaptiveKL":
        """Return the controller after an update on `sequences` in which the divergence was `kl`.

        The coefficient stays above 0: one update lowers it by at most 99 %, even one of five horizons.
        """
        error = min(max(kl / self.target - 1, -0.2), 0.2)
        return replace(self, coef=self.coef * max(1 + error * sequences / self.horizon, 0.01))
