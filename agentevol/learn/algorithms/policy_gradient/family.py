"""Policy-gradient family: algorithms composed of an advantage and settings.

ALGORITHM = family(grpo, aggregation="seq_mean_token_mean", kl_coef=0.001)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from agentevol.core.algorithms.contract import Advantages, Algorithm, Column, Loss, Option, Rollouts, Switch
from agentevol.core.algorithms.options import options_of, own, takes_options_of
from agentevol.learn.algorithms.advantages.baselines import figures, grouped
from agentevol.learn.algorithms.advantages.reward_shaping import kl_in_reward
from agentevol.learn.algorithms.losses.importance import engine_correction
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient

NEEDS: Mapping[Column, str | None] = {
    "old_logp": None,
    "ref_logp": "kl_coef",
    "rollout_logp": "importance",
    "entropy": "entropy_coef",
}

RATIO_MATTERS = ("surrogate", "clip", "cispo")
SCALE_MATTERS = ("scale_rewards", "group", "batch")
ONLY_WITH: Mapping[str, Switch] = {
    "ratio": RATIO_MATTERS,
    "clip_low": RATIO_MATTERS,
    "clip_high": RATIO_MATTERS,
    "dual_clip": ("surrogate", "clip"),
    "horizon": ("aggregation", "seq_mean_token_sum_norm"),
    "kl": "kl_coef",
    "importance_cap": ("importance", "token", "sequence", "masked"),
    "importance_floor": ("importance", "masked"),
    "importance_band": ("importance", "geometric"),
    "importance_normalise": "importance",
    "epsilon": SCALE_MATTERS,
    "baseline": ("scale_rewards", "batch", "none"),
    "singleton": ("baseline", "group"),
    "ddof": SCALE_MATTERS,
    "overlong_buffer": "overlong_cap",
    "overlong_factor": "overlong_cap",
}

Estimate = Callable[..., Advantages]
Shaping = Callable[..., Rollouts]
Correction = Callable[..., Advantages]


def family(
    estimate: Estimate,
    *,
    loss: Callable[..., Loss] = policy_gradient,
    shapings: Sequence[Shaping] = (),
    corrections: Sequence[Correction] = (),
    model: Literal["policy", "critic"] = "policy",
    needs: Mapping[Column, str | None] | None = None,
    only_with: Mapping[str, Switch] | None = None,
    turn_discount: float | str | None = None,
    **settings: Option,
) -> Algorithm:
    """Return the policy gradient with the advantages of `estimate`; `settings` are its options' own defaults.

    Raises `TypeError` for a setting that is not an option.
    """
    advantage = advantage_of(estimate, shapings, corrections)
    options = options_of(loss) | options_of(advantage)
    if unknown := settings.keys() - options.keys():
        raise TypeError(f"no option of this algorithm: {', '.join(sorted(unknown))}")
    switches = {**ONLY_WITH, **(only_with or {})}
    return Algorithm(
        loss=partial(loss, **own(loss, settings)),
        data="groups",
        model=model,
        needs={**NEEDS, **(needs or {})},
        advantage=partial(advantage, **own(advantage, settings)),
        only_with={
            option: switch
            for option, switch in switches.items()
            if option in options and (switch if isinstance(switch, str) else switch[0]) in options
        },
        turn_discount=turn_discount,
    )


def advantage_of(
    estimate: Estimate, shapings: Sequence[Shaping] = (), corrections: Sequence[Correction] = ()
) -> Estimate:
    """Compose `estimate` with reward shaping (a KL penalty is always an option), corrections and metrics.

    Shapings take rollouts, corrections rollouts and advantages; the result has the options of all of them.
    """
    before, after = (kl_in_reward, *shapings), (*corrections, engine_correction)

    @takes_options_of(*before, estimate, *after)
    def advantage(rollouts: Rollouts, **options: Any) -> Advantages:
        grouped(rollouts.returns, rollouts.group)  # raises for returns that are not finite
        shaped = rollouts
        for shaping in before:
            shaped = shaping(shaped, **own(shaping, options))
        found = estimate(shaped, **own(estimate, options))
        found = replace(found, metrics={**figures(rollouts, found.advantage), **found.metrics})
        for correction in after:
            found = correction(rollouts, found, **own(correction, options))
        return found

    return advantage
