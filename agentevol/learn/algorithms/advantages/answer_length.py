"""AMPO's length reward: the reward of a reply, reduced as its answer grows longer.

Wang et al., 2025 (arXiv:2505.02156). With target 250 and span 75, a reply that earned 0.8 keeps

    175 tokens 0.8    250 tokens 0.4    325 tokens 0
"""

from dataclasses import replace

import numpy as np

from agentevol.core.algorithms.contract import Rollouts
from agentevol.core.algorithms.options import NotNegative, Positive
from agentgym_envs.thinking import length_factor


def answer_length(
    rollouts: Rollouts, *, length_target: NotNegative = 0.0, length_span: Positive = 75.0
) -> Rollouts:
    """Multiply the environment's reward of each turn by 1 up to length_target - length_span tokens of its
    answer, 1/2 at the target, 0 from target + span on; a target of 0 switches it off.

    The paper has 250 and 75. Meant for rewards of at least 0: a penalty would shrink as well.
    """
    if not length_target:
        return rollouts
    steps = rollouts.steps
    counts = steps.tokens if steps.answer_tokens is None else steps.answer_tokens
    factor_S = np.asarray([length_factor(n, target=length_target, span=length_span) for n in counts])
    lost_S = steps.reward * (1 - factor_S)
    last_N = np.diff(rollouts.step, append=-1) != 0
    return replace(
        rollouts,
        reward=rollouts.reward - np.where(last_N, lost_S[rollouts.step], 0.0),
        steps=replace(steps, reward=steps.reward - lost_S),
    )
