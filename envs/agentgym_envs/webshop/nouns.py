"""Rule-based noun tagger of product titles, without a lexicon, for the generated shop.

The original asks spaCy, whose models are no packages. Nearly everything in a title that is no closed-class
word is a noun to spaCy, so that little more is needed. `taggers` has another, and says which is used where.
"""

import re

NAME = "rules-1"
"""Name of this tagger, with its version."""
_TOKEN = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)+\.?|[A-Za-z0-9]*[A-Za-z][A-Za-z0-9]*(?:[.'’][A-Za-z0-9]+)*")
_MEASURE = re.compile(r"[0-9]+[a-z]{1,3}")
_ADJECTIVES = ("able", "ible", "ful", "ous", "less", "ish")
_CLOSED_CLASSES = """
a an the and or but nor so for of with without in on at to by from as is are was were be been being am this
that these those it its i you your yours we our us they their them he she his her my me who which what when
where how not no yes all any each every both either neither more most less least much many few some such
only own same other than then too very just also up down off out over under per via into onto about above
below between through during before after while if can will would should could may might must do does did
has have had get gets let make makes
"""
_CLOSED = frozenset(_CLOSED_CLASSES.split())


def nouns(title: str) -> list[str]:
    """Nouns in lower case and in their order, each as often as it occurs.

    >>> nouns("ACME Men's Shorts, Quickly Dry, breathable, 12oz")
    ['acme', 'men', 'shorts', 'dry']
    """
    found: list[str] = []
    for token in _TOKEN.findall(title):
        word = token.removesuffix("'s").removesuffix("’s")
        lower = word.lower()
        adverb = lower.endswith("ly") and len(lower) > 4
        adjective = word == lower and lower.endswith(_ADJECTIVES)
        if not (lower in _CLOSED or adverb or adjective or _MEASURE.fullmatch(lower)):
            found.append(lower)
    return found
