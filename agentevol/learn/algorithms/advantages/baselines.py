"""Advantages over all episodes of an update: group-relative, leave-one-out and whitened.

Returns [1, 0, 0.5] of one group, sample deviation 0.5:

    grpo      (R - mean) / (deviation + epsilon)   [1, -1, 0]
    dr_grpo   R - mean                             [0.5, -0.5, 0]
    rloo      R - mean of the others               [0.75, -0.75, 0]

With `baseline` "seat" the return is compared with an exponential mean of earlier returns in the same world
and seat (`agentevol.data.seat_baselines`), and not with the group's.

Every token of an episode has the episode's advantage. Episodes without a score are excluded before; the
statistics of a group that lost such members are those of the remaining ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agentevol.core.algorithms.contract import ABSENT, Advantages, Floats, Integers, Rollouts
from agentevol.core.algorithms.options import Fraction, NotNegative
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.advantages.gae import returns_to_go

Singleton = Literal["zero", "raw"]
"""Advantage of a group of one, which has no baseline: zero, or `raw`, its return as in verl."""

Baseline = Literal["group", "seat"]
"""Mean that a return is compared with: that of its group, or of earlier ones in its world and seat."""

Scale = Literal["group", "batch", "none"]

SAME = 1e-8
"""Tolerance of equal returns: divided by epsilon, their rounding errors would become a signal."""


@dataclass(frozen=True)
class Groups:
    """Statistics of returns by group. G groups, in the order of their names."""

    number: Integers
    """(J,) group of each sequence, in 0 .. G - 1."""
    size: Integers
    """(G,)."""
    mean: Floats
    """(G,)."""
    spread: Floats
    """(G,) range: the highest return less the lowest."""
    squares: Floats
    """(G,) sum of squared deviations from the mean."""

    @property
    def equal(self) -> NDArray[np.bool_]:
        """(G,) True where all returns of the group are equal, as in every group of one."""
        return self.spread <= SAME

    def deviation(self, ddof: int) -> Floats:
        """(G,) standard deviation; 1 for a group of one."""
        root = np.sqrt(self.squares / np.maximum(self.size - ddof, 1))
        return np.where(self.size == 1, 1.0, root)


def grouped(returns: Floats, names: Sequence[str]) -> Groups:
    """Group the (J,) returns; raises `ConfigError` for one that is not finite."""
    bad = np.flatnonzero(~np.isfinite(returns))
    if len(bad):
        first = int(bad[0])
        raise ConfigError(
            f"the return of episode {first} of group {names[first]!r} is {returns[first]};"
            f" leave out episodes without a score"
        )
    number = np.unique(np.asarray(names), return_inverse=True)[1].astype(np.int64)
    size = np.bincount(number)
    highest, lowest = np.full(len(size), -np.inf), np.full(len(size), np.inf)
    np.maximum.at(highest, number, returns)
    np.minimum.at(lowest, number, returns)
    mean = np.bincount(number, weights=returns) / size
    squares = np.bincount(number, weights=(returns - mean[number]) ** 2).astype(np.float64)
    return Groups(number, size, mean, highest - lowest, squares)


def centred(returns: Floats, groups: Groups, singleton: Singleton) -> Floats:
    """(J,) return less the group's mean; exactly 0 in groups without variance."""
    ours = groups.number
    apart = np.where(groups.equal[ours], 0.0, returns - groups.mean[ours])
    return np.where((groups.size[ours] == 1) & (singleton == "raw"), returns, apart)


def over_seat(rollouts: Rollouts) -> Floats:
    """(J,) return less the mean of earlier ones in its world and seat; 0 without any.

    Raises `ConfigError` where no baseline was noted.
    """
    if rollouts.baseline is ABSENT:
        raise ConfigError("baseline = 'seat' needs episodes with a baseline (`EpisodeFacts.baseline`)")
    known = np.isfinite(rollouts.baseline)
    return np.where(known, rollouts.returns - np.where(known, rollouts.baseline, 0.0), 0.0)


def grpo(
    rollouts: Rollouts,
    *,
    baseline: Baseline = "group",
    scale_rewards: Scale = "group",
    epsilon: NotNegative = 1e-6,
    ddof: Literal[0, 1] = 1,
    singleton: Singleton = "zero",
) -> Advantages:
    """Group-relative advantage (Shao et al., 2024, arXiv:2402.03300, section 4.1.2).

    `scale_rewards` selects the divisor: the group's standard deviation, that of all returns of the update, or
    none, as in Dr. GRPO (Liu et al., 2025, arXiv:2503.20783, section 3.2). `ddof` 1 is the sample's
    deviation; `epsilon` is added to it. `baseline` seat is for the latter two.
    """
    returns = rollouts.returns
    groups = grouped(returns, rollouts.group)
    by_seat = baseline == "seat" and scale_rewards != "group"
    advantage = over_seat(rollouts) if by_seat else centred(returns, groups, singleton)
    if scale_rewards == "group":
        advantage = _over(advantage, groups.deviation(ddof)[groups.number] + epsilon)
    elif scale_rewards == "batch" and np.ptp(returns) > SAME:
        advantage = _over(advantage, returns.std(ddof=ddof) + epsilon)
    return Advantages(advantage[rollouts.sequence])


def _over(values: Floats, scale: Floats | float) -> Floats:
    """Quotients, with 0 for every numerator of 0, also for 0 / 0."""
    return np.divide(values, scale, out=np.zeros_like(values), where=values != 0)


def rloo(rollouts: Rollouts, *, baseline: Baseline = "group", singleton: Singleton = "zero") -> Advantages:
    """Return less the mean of the group's other returns (Ahmadian et al., 2024, arXiv:2402.14740)."""
    if baseline == "seat":
        return Advantages(over_seat(rollouts)[rollouts.sequence])
    returns = rollouts.returns
    groups = grouped(returns, rollouts.group)
    size = groups.size[groups.number]
    advantage = centred(returns, groups, singleton) * size / np.maximum(size - 1, 1)
    return Advantages(advantage[rollouts.sequence])


def reinforce_pp(rollouts: Rollouts, *, gamma: Fraction = 1.0) -> Advantages:
    """Discounted return-to-go of each token, whitened over the update (Hu, 2025, arXiv:2501.03262)."""
    return Advantages(whitened(returns_to_go(rollouts, gamma)))


def reinforce_pp_baseline(
    rollouts: Rollouts, *, baseline: Baseline = "group", singleton: Singleton = "zero"
) -> Advantages:
    """Return less the group's mean at each token, whitened over the update (Hu, 2025, arXiv:2501.03262)."""
    returns = rollouts.returns
    by_group = baseline == "group"
    apart = centred(returns, grouped(returns, rollouts.group), singleton) if by_group else over_seat(rollouts)
    return Advantages(whitened(apart[rollouts.sequence]))


def whitened(values: Floats) -> Floats:
    """Mean 0 and sample variance 1 over all tokens, with 1e-8 under the root; one token alone gives 0."""
    if len(values) < 2:
        return np.zeros_like(values)
    return (values - values.mean()) / np.sqrt(values.var(ddof=1) + 1e-8)


def figures(rollouts: Rollouts, advantage: Floats) -> dict[str, float]:
    """Metrics: advantages over tokens, the environment's returns over episodes, and groups without a signal.

    A failure is a return of at most 0, a success one of at least 1.
    """
    returns = rollouts.returns
    groups = grouped(returns, rollouts.group)
    lowest, highest = np.full(len(groups.size), np.inf), np.full(len(groups.size), -np.inf)
    np.minimum.at(lowest, groups.number, returns)
    np.maximum.at(highest, groups.number, returns)
    sizes, counts = np.unique(groups.size, return_counts=True)
    found = {
        "adv_mean": advantage.mean(),
        "adv_std": advantage.std(),
        "adv_min": advantage.min(),
        "adv_max": advantage.max(),
        "reward_mean": returns.mean(),
        "reward_std": returns.std(),
        "frac_zero_std_groups": (groups.equal & (groups.size > 1)).mean(),
        "frac_groups_all_fail": (highest <= 0).mean(),
        "frac_groups_all_pass": (lowest >= 1).mean(),
        **{f"groups_of_{size}": count for size, count in zip(sizes, counts, strict=True)},
        **_by_environment(rollouts),
    }
    return {name: float(value) for name, value in found.items()}


def _by_environment(rollouts: Rollouts) -> dict[str, float]:
    """Mean return of each environment where there are several; for a single one it equals `reward_mean`."""
    names = sorted(set(rollouts.environment))
    if len(names) < 2:
        return {}
    environment_J = np.asarray(rollouts.environment)
    return {f"return_{name}": float(rollouts.returns[environment_J == name].mean()) for name in names}
