"""PPO with a critic (Schulman et al., 2017, arXiv:1707.06347), advantages by GAE over learnt tokens."""

from dataclasses import replace
from typing import Any

from agentevol.core.algorithms.contract import Advantages, Batch, Loss, Rollouts
from agentevol.core.algorithms.options import NotNegative, own, takes_options_of
from agentevol.learn.algorithms.advantages.baselines import whitened
from agentevol.learn.algorithms.advantages.gae import gae
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.losses.value_loss import value_loss
from agentevol.learn.algorithms.policy_gradient.family import family


@takes_options_of(gae)
def ppo_advantages(rollouts: Rollouts, **options: Any) -> Advantages:
    """GAE, whitened over the update; the targets of the value function are not whitened."""
    found = gae(rollouts, **options)
    return replace(found, advantage=whitened(found.advantage))


@takes_options_of(policy_gradient, value_loss)
def ppo(batch: Batch, *, value_coef: NotNegative = 0.1, **options: Any) -> Loss:
    """The clipped surrogate plus `value_coef` times the value loss, both aggregated alike.

    The critic shares the policy's hidden states: `value_coef` scales its gradient into them.
    `learn.critic_learning_rate` gives it an optimiser of its own, `learn.critic_warmup` a warm-up with a
    frozen policy.
    """
    value = value_loss(batch, **own(value_loss, options))
    policy = policy_gradient(batch, **own(policy_gradient, options))
    return Loss(policy.value + value_coef * value.value, {**policy.metrics, **value.metrics})


ALGORITHM = family(
    ppo_advantages,
    loss=ppo,
    model="critic",
    needs={"value": None},
    only_with={"gamma": ("turn_gae", False)},
    turn_discount="turn_discount",
    kl="reward",
    kl_coef=0.001,
)
