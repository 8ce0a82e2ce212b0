"""Check that engine and learner compute the same model, by their log-probabilities of the same tokens.

They agree up to rounding where both read the same ids with the same weights at the same temperature. The
check fails where nothing could be compared or a difference is not a number.
"""

from typing import NamedTuple

from agentevol.core.errors import RunStopped


class Gap(NamedTuple):
    """Difference between the log-probabilities of engine and learner."""

    mean: float
    """Mean |learner - engine| log-probability per token; NaN where one is not a number, and for no token."""
    tokens: int
    """Number of tokens compared."""


def check_gap(found: Gap, most: float, *, expected: bool) -> None:
    """Raise `RunStopped` for a gap above `most`, for one that is not a number, and where nothing was compared
    although it was `expected`.
    """
    if found.tokens and not found.mean <= most:
        raise RunStopped(
            f"engine and learner disagree: their log-probabilities of the same {found.tokens} tokens differ"
            f" by {found.mean:.3g} on average, more than max_logp_gap ({most:g}); another temperature, chat"
            " template or model was sampled from; if that is intended, raise learn.max_logp_gap"
        )
    if expected and not found.tokens:
        raise RunStopped(
            "engine and learner could not be compared: no training sequence has a token of the latest weights"
        )
