"""Registries of the rewards, judges and potentials that a configuration names.

Names are checked here; the modules behind them are imported where the objects are used.
"""

from agentevol.core.extensions import Extensions

REWARDS = Extensions(
    "reward function",
    "agentevol.rewards",
    {
        name: f"agentevol.data.rewards.reward_functions:{name}"
        for name in ("success", "discounted_return", "good_accuracy")
    },
)
"""Reward functions of `reward.function`: `agentevol.data.rewards.reward_functions.RewardFunction`."""

JUDGES = Extensions(
    "judge",
    "agentevol.judges",
    {
        "rubric": "agentevol.data.judges.rubric:Rubric",
        "service": "agentevol.data.judges.service:ServiceJudge",
    },
)
"""Judges of `reward.judge`: factories of `agentevol.core.judges.Judge`."""

POTENTIALS = Extensions(
    "potential",
    "agentevol.shapings",
    {"new_observations": "agentevol.data.rewards.potentials:new_observations"},
)
"""Potentials of `shaping.potential`: `agentevol.data.rewards.potentials.Potential`."""

TURN_REWARDS = Extensions(
    "turn reward",
    "agentevol.turn_rewards",
    {"turn_cost": "agentevol.data.rewards.turn_rewards:turn_cost"},
)
"""Rewards of single turns, of `shaping.reward`: `agentevol.data.rewards.turn_rewards.TurnReward`."""
