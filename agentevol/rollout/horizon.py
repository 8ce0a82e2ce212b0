"""Curriculum of turn limits that grow during training.

ScalingInter (AgentGym-RL, 2025, arXiv:2509.08755) lengthens episodes in stages: short ones first, then long
ones. Evaluation always has the last horizon.
"""

from collections.abc import Sequence

from agentevol.core.errors import ConfigError


def turn_limit(step: int, rounds: Sequence[int], every: int) -> int:
    """Turn limit of training step `step`, from 0: `rounds` one after another, each for `every` steps.

    It depends on the step alone, so a resumed run continues identically. The paper has [10, 20, 30] every 100
    steps for TextCraft and SciWorld, [8, 12, 15] every 80 for WebArena, [5, 8, 10] for SearchQA and [6, 13,
    20] for BabyAI.
    """
    _check(rounds)
    if every < 1 or step < 0:
        raise ConfigError(f"a horizon needs `every` of at least 1 and a step of at least 0: {every}, {step}")
    return rounds[min(step // every, len(rounds) - 1)]


def gated_turn_limit(
    successes: Sequence[float], rounds: Sequence[int], threshold: float, patience: int = 1
) -> int:
    """Turn limit after updates with these success rates: the next of `rounds` whenever `patience` consecutive
    rates have reached `threshold`. It depends on the record of the run alone.
    """
    _check(rounds)
    if patience < 1:
        raise ConfigError(f"a gated horizon needs a patience of at least 1, not {patience}")
    reached = streak = 0
    for success in successes:
        streak = streak + 1 if success >= threshold else 0
        if streak == patience:
            reached, streak = reached + 1, 0
    return rounds[min(reached, len(rounds) - 1)]


def _check(rounds: Sequence[int]) -> None:
    if not rounds or rounds[0] < 1 or list(rounds) != sorted(rounds):
        raise ConfigError(f"a horizon's rounds are turns of at least 1 and never fewer: {list(rounds)}")
