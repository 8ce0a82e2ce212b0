"""Analyser of Anserini for English: words without possessive 's, lower-cased, without stop words, stemmed."""

from functools import lru_cache
from itertools import chain

from agentgym_envs.search.porter import stem
from agentgym_envs.search.tokenizer import words

_STOP = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they
this to was will with
"""
STOP_WORDS = frozenset(_STOP.split())
_POSSESSIVE = ("'s", "’s", "＇s", "'S", "’S", "＇S")
_LONG = 64
"""Maximum length of a cached piece of text; longer ones are rare, and must not fill the memory."""


def analyzed(text: str) -> list[str]:
    """Terms in their order, as often as they occur.

    Words do not cross white space, so pieces between it are analysed, and cached, one by one.

    >>> analyzed("men’s women's dogs' wi-fi 802.11ac of the skies")
    ['men', 'women', 'dog', 'wi', 'fi', '802.11ac', 'ski']
    """
    pieces = text.split()
    return list(
        chain.from_iterable(_remembered(piece) if len(piece) <= _LONG else _terms(piece) for piece in pieces)
    )


def _terms(piece: str) -> tuple[str, ...]:
    lower = [(word[:-2] if word.endswith(_POSSESSIVE) else word).lower() for word in words(piece)]
    return tuple(stem(word) for word in lower if word not in STOP_WORDS)


_remembered = lru_cache(maxsize=1 << 16)(_terms)
