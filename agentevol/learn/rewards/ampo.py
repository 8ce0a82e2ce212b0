"""AMPO's reward of an utterance: the change of the goal's score, scaled down by the length of the answer.

Wang et al., 2025 (arXiv:2505.02156), as in the authors' code. A judge scores the goal from 0 to 10 before and
after the utterance:

    5 to 8, 175 tokens    (3/5 + 1) / 2 * 1 = 0.8
    5 to 4, 250 tokens    (-1/5 + 1) / 2 * 0.5 = 0.2
"""

from dataclasses import dataclass
from typing import Literal

from agentevol.core.errors import ConfigError
from agentgym_envs.thinking import length_factor

HIGHEST = 10.0
"""Best score of a goal; the worst is 0."""

MALFORMED = -2.0
"""Reward of an utterance of wrong format, which is not judged."""

JudgeFail = Literal["exclude", "zero"]


@dataclass(frozen=True)
class AMPOReward:
    """A reward and its parts; None for parts that do not apply."""

    total: float | None
    """None where the judge failed: the sample has to be left out."""
    mode: int
    """Thinking mode for the advantage; -1 for a wrong format or a failed judge."""
    answer: float | None = None
    """Reward of the answer, in [0, 1]; 1/2 for no change."""
    length: float | None = None
    """Factor for the length, in [0, 1]."""


def ampo_reward(
    mode: int,
    answer_tokens: int,
    before: float,
    after: float | None,
    *,
    target: float = 250.0,
    span: float = 75.0,
    judge_fail: JudgeFail = "exclude",
) -> AMPOReward:
    """Return the reward of an utterance in `mode` (-1: malformed) with so many answer tokens, quotes
    included.

    `after` is None where the judge failed: the sample is excluded, or has reward `zero` and counts as
    malformed in the comparison of modes, as in the authors' code.
    """
    if mode == -1:
        return AMPOReward(MALFORMED, mode=-1)
    if after is None:
        return AMPOReward(0.0 if judge_fail == "zero" else None, mode=-1)
    answer = answer_reward(before, after)
    length = length_reward(answer_tokens, target=target, span=span)
    return AMPOReward(answer * length, mode, answer, length)


def answer_reward(before: float, after: float) -> float:
    """Change of the score, as a share of what could be gained or lost, mapped from [-1, 1] to [0, 1].

    Raises `ConfigError` for a score outside 0 to 10.
    """
    if not (0 <= before <= HIGHEST and 0 <= after <= HIGHEST):
        raise ConfigError(f"a goal's score is between 0 and {HIGHEST:g}, not {before} and {after}")
    change = after - before
    if change == 0:
        return 0.5
    return (change / (HIGHEST - before if change > 0 else before) + 1) / 2


def length_reward(answer_tokens: int, *, target: float = 250.0, span: float = 75.0) -> float:
    """1 up to `target` - `span` tokens, 1/2 at `target`, 0 from `target` + `span` on.

    A shorter answer never earns less, although the paper describes the deviation from the target.
    """
    return length_factor(answer_tokens, target=target, span=span)
