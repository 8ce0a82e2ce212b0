"""Credit of turns for the outcome of their episode, where the environment pays at the end only.

Three turns of a talk whose deal pays 0.8, with `credit` "turn" and "episode":

    0     0     0.8
    0.8   0.8   0.8
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from agentevol.core.algorithms.contract import Rollouts
from agentevol.learn.algorithms.advantages.turn_level import turn_returns


def episode_credit(rollouts: Rollouts, *, credit: Literal["turn", "episode"] = "turn") -> Rollouts:
    """Reward each turn with what the environment pays from it to the end of its episode ("episode"), or with
    its own reward alone ("turn").
    """
    if credit == "turn":
        return rollouts
    steps = rollouts.steps
    later_S = turn_returns(steps.sequence, steps.reward, 1.0) - steps.reward
    last_N = np.diff(rollouts.step, append=-1) != 0
    return replace(
        rollouts,
        reward=rollouts.reward + np.where(last_N, later_S[rollouts.step], 0.0),
        steps=replace(steps, reward=steps.reward + later_S),
    )
