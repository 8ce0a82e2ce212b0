"""Sampled tokens of a turn as a heat strip: their text, probability and colour."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from agentevol.ui.reader.tokenizers import Tokenizer
from agentevol.ui.text import visible
from agentgym_store.records import Sample

BANDS = 8
"""Colours, from improbable to certain."""
MOST_TOKENS = 2_000
"""Tokens of a turn that are shown."""


@dataclass(frozen=True)
class Token:
    """One sampled token."""

    text: str
    """Its text, or its id where there is no tokenizer."""
    tip: str
    """Text that is shown on hover and focus."""
    band: int
    """0, improbable, to `BANDS` - 1, certain."""
    is_forced: bool
    """True if it was not drawn but forced."""


@dataclass(frozen=True)
class Strip:
    """Tokens of a turn."""

    tokens: tuple[Token, ...]
    hidden: int
    """Number of further ones."""
    prompt: int
    """Tokens of the prompt."""
    sampled: int
    mean_logprob: float
    least: float
    """Probability of the least probable token."""
    has_text: bool
    """False where the tokens have no text, since the tokenizer is not there."""


def strip(sample: Sample | None, tokenizer: Tokenizer | None) -> Strip | None:
    """The heat strip of a sample; None where it has no tokens."""
    if sample is None or not sample.token_ids:
        return None
    ids, logprobs = sample.token_ids[:MOST_TOKENS], sample.logprobs[:MOST_TOKENS]
    texts = _texts(ids, tokenizer)
    mask = sample.loss_mask or (1,) * len(ids)
    tokens = tuple(_token(*one) for one in zip(texts, ids, logprobs, mask, strict=False))
    return Strip(
        tokens,
        len(sample.token_ids) - len(tokens),
        len(sample.prompt_ids),
        len(sample.token_ids),
        fmean(sample.logprobs),
        math.exp(min(sample.logprobs)),
        tokenizer is not None,
    )


def band(logprob: float) -> int:
    """Colour of a probability: 0 below 1 %, then 5, 10, 25, 50, 75 and 95 %."""
    bounds = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95)
    return sum(math.exp(min(0.0, logprob)) >= bound for bound in bounds)


def _texts(ids: Sequence[int], tokenizer: Tokenizer | None) -> list[str]:
    if tokenizer is None:
        return [f"{number} " for number in ids]
    return [tokenizer.text(number) for number in ids]


def _token(text: str, number: int, logprob: float, mask: int) -> Token:
    chance = math.exp(min(0.0, logprob)) if not math.isnan(logprob) else math.nan
    told = [
        f"“{visible(text)}”",
        f"probability {100 * chance:.3g} %",
        f"log-probability {logprob:.4g}",
        f"id {number}",
    ]
    forced = ["forced, not drawn"] if not mask else []
    return Token(text or f"⟨{number}⟩", ", ".join([*told, *forced]), band(logprob), not mask)
