"""Configuration section `shaping`: additional rewards of single turns, and the checks of its effect."""

from pydantic import field_validator

from agentevol.config.rewards.registries import POTENTIALS, TURN_REWARDS
from agentevol.config.sections.exploration import ExploreConfig
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.section import Section
from agentevol.core.algorithms.registry import algorithm, objective


class ShapingConfig(Section):
    """Shaped rewards of explored turns. Evaluations use the environment's own rewards."""

    potential: str | None = None
    """Potential function of the history: a turn earns gamma * Phi(s') - Phi(s) in addition, with the
    algorithm's discount from turn to turn; the optimal policy stays the same (Ng, Harada and Russell, 1999).
    `new_observations`, one of another distribution, or `module:attribute`
    (`agentevol.data.rewards.potentials.Potential`).
    """
    reward: str | None = None
    """Function that replaces the reward of every turn; it may change the optimal policy. `turn_cost`, one of
    another distribution, or `module:attribute` (`agentevol.data.rewards.turn_rewards.TurnReward`).
    """

    @field_validator("potential")
    @classmethod
    def _is_a_potential(cls, value: str | None) -> str | None:
        return value if value is None else POTENTIALS.checked(value)

    @field_validator("reward")
    @classmethod
    def _is_a_turn_reward(cls, value: str | None) -> str | None:
        return value if value is None else TURN_REWARDS.checked(value)


def check_shaping(shaping: ShapingConfig, rewarded: bool, learn: LearnConfig, explore: ExploreConfig) -> None:
    """Raise `ValueError` where shaping.* has no effect, or would not keep the optimal policy; `rewarded`
    says that reward.* or process.* sets the rewards of turns.
    """
    name = learn.algorithm
    data = algorithm(name).data
    if (shaping.potential or shaping.reward) and data != "groups":
        raise ValueError(f"shaping.* has no effect: learn.algorithm {name!r} learns from {data}, not rewards")
    if shaping.reward is not None:
        if rewarded:
            raise ValueError(
                "shaping.reward and reward.* or process.* both set the rewards of turns: leave out one"
            )
        if explore.resample:
            raise ValueError("explore.resample compares the environment's returns, not shaping.reward")
    if shaping.potential is not None:
        potential_discount(learn)


def potential_discount(learn: LearnConfig) -> float:
    """Discount from turn to turn of the algorithm, which `shaping.potential` has to share.

    Raises `ValueError` for an algorithm that compares whole returns, which a potential shifts by the same
    constant for all samples of a task, and for one with a discount from token to token.
    """
    name, chosen = learn.algorithm, objective(learn.algorithm, learn.options)
    discount = chosen.algorithm.turn_discount
    if discount is None:
        raise ValueError(
            f"shaping.potential has no effect: learn.algorithm {name!r} compares whole returns, or turns of"
            " equal states; take one that learns from single turns, such as ppo or reinforce_pp"
        )
    if isinstance(discount, str) and discount not in chosen.options:
        raise ValueError(f"turn_discount of learn.algorithm {name!r} names no option of it: {discount!r}")
    by_token = "gamma" in chosen.options and discount != "gamma" and not chosen.options.get("turn_gae")
    if by_token and chosen.options["gamma"] != 1:
        raise ValueError(
            f"shaping.potential is discounted from turn to turn: learn.options.gamma ="
            f" {chosen.options['gamma']} discounts from token to token, leave it at 1"
        )
    return float(chosen.options[discount]) if isinstance(discount, str) else discount
