"""Noun tagger with Pattern's rules in TextBlob 0.20.1 (`textblob.en.tag`): by a lexicon, else by endings.

The folder `lexicon` holds the relevant part: words that are no nouns, and nouns whose endings suggest
otherwise.
"""

import re
from functools import cache
from pathlib import Path

from agentgym_envs.webshop.taggers.tokens import sentences

_NUMBER = re.compile(r"[0-9\-,.:/%$]+")
_ENDINGS = "able al ate ed ful ible ient ify ing ise ish ive ize less ly ous tic"
"""Endings of adjectives, adverbs and verbs."""
_OTHERS = tuple(_ENDINGS.split())
_COMMENT = ";;;"
_FOLDER = Path(__file__).parent / "lexicon"


def nouns(title: str) -> list[str]:
    """Nouns in lower case and in their order, each as often as it occurs.

    >>> nouns("ACME Men's Shorts, Quick Dry, breathable | 12oz")
    ['acme', 'men', 'shorts', 'quick', 'dry', '|', '12oz']
    """
    return [
        token.lower()
        for sentence in sentences(title)
        for place, token in enumerate(sentence)
        if _is_noun(token, is_first=place == 0)
    ]


def _is_noun(token: str, *, is_first: bool) -> bool:
    """True if the lexicon has it as a noun (the first word of a sentence is looked up in lower case too),
    else by form.
    """
    lexicon = _lexicon()
    known = lexicon.get(token)
    if known is None and is_first:
        known = lexicon.get(token.lower())
    return _has_form_of_noun(token) if known is None else known


def _has_form_of_noun(token: str) -> bool:
    """True if an unknown word is a noun: capitalised ones are, others by their ending."""
    if token.istitle():
        return True
    return not (_NUMBER.fullmatch(token) or "-" in token or token.endswith(_OTHERS))


@cache
def _lexicon() -> dict[str, bool]:
    """Word -> True if it is a noun."""
    files = {"others.txt": False, "nouns.txt": True}
    return {word: is_noun for name, is_noun in files.items() for word in _words(_FOLDER / name)}


def _words(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line and not line.startswith(_COMMENT)]
