"""Exact match and F1 of answers, as SQuAD has them (arXiv:1606.05250), the measure of HotpotQA and others."""

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = {"yes", "no", "noanswer"}
"""Answers of which a part is worth nothing."""


def normalized(text: str) -> str:
    """Lower case, without punctuation and articles, with single spaces.

    >>> normalized("The  Eiffel Tower.")
    'eiffel tower'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, right: Sequence[str]) -> bool:
    """Whether an answer equals one of the right texts, after normalization."""
    return normalized(answer) in {normalized(one) for one in right}


def f1(answer: str, right: Sequence[str]) -> float:
    """Largest harmonic mean of precision and recall of words with one of the right texts, 0 to 1."""
    return max((_f1(normalized(answer), normalized(one)) for one in right), default=0.0)


def _f1(answer: str, right: str) -> float:
    if answer != right and (answer in _CLOSED or right in _CLOSED):
        return 0.0
    mine, theirs = answer.split(), right.split()
    shared = (Counter(mine) & Counter(theirs)).total()
    if not shared:
        return float(not mine and not theirs)
    precision, recall = shared / len(mine), shared / len(theirs)
    return 2 * precision * recall / (precision + recall)
