"""Scores from the probabilities of the digits at one position (G-Eval, arXiv:2303.16634, eq. 1).

With p(7) = 0.2 and p(9) = 0.2, and 0.6 for other tokens: (7 * 0.2 + 9 * 0.2) / 0.4 = 8, on the scale from 1
to 9 a score of (8 - 1) / 8 = 0.875.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agentevol.core.errors import ConfigError
from agentevol.data.self_evaluation.rubric import HIGHEST, LOWEST
from agentevol.models.rendering import ChatRenderer

Floats = NDArray[np.float64]
DIGITS = tuple(range(LOWEST, HIGHEST + 1))


class DigitTokens(NamedTuple):
    """Token ids of the digits in one tokenizer."""

    prefix: tuple[int, ...]
    """Ids before every digit, such as SentencePiece's mark of a word."""
    ids: tuple[int, ...]
    """Id of each digit, from the lowest."""


def digit_tokens(renderer: ChatRenderer) -> DigitTokens:
    """Token ids of the digits. Raises `ConfigError` where a digit is not one token after a common prefix."""
    found = [tuple(renderer.beginning_ids(str(digit))) for digit in DIGITS]
    prefixes, ids = {one[:-1] for one in found}, tuple(one[-1] for one in found if one)
    if len(prefixes) != 1 or len(set(ids)) != len(DIGITS):
        raise ConfigError(
            f"self.judge: the tokenizer has no token for each of the digits {LOWEST} to {HIGHEST}, and a"
            " score is read from one position: take another judge"
        )
    return DigitTokens(prefixes.pop(), ids)


def expected_score(logp_D: Floats) -> tuple[float, float]:
    """Score in [0, 1] from the digits' log-probabilities, and the probability of any digit.

    A small probability says that the judge does not answer with a digit; the score is that of those answers
    that are.
    """
    share_D = np.exp(logp_D - logp_D.max())
    share_D /= share_D.sum()
    return scaled(float(share_D @ np.asarray(DIGITS, np.float64))), float(np.exp(logp_D).sum())


def scaled(digit: float) -> float:
    """A digit, or a mean of digits, as a score in [0, 1]."""
    return min(max((digit - LOWEST) / (HIGHEST - LOWEST), 0.0), 1.0)
