"""Rewording of texts: words are replaced by random others of a vocabulary.

A model that has to repeat its input, and reads the same few hundred words all the time, memorises these words
instead of learning to copy. Unseen sentences prevent that.
"""

import re
from collections.abc import Sequence
from random import Random

MOST = 3
"""Most words that replace one."""
_WORD = re.compile(r"[a-z]+")


def reworded(text: str, words: Sequence[str], draw: Random) -> str:
    """Replace a random share of its words, from none to all, each by one to `MOST` of `words`.

    >>> reworded("find me 2 rugs, soon", ["mist"], Random(4))
    'find mist mist 2 rugs, mist'
    """
    share = draw.random()

    def other(found: re.Match[str]) -> str:
        if draw.random() >= share:
            return found[0]
        return " ".join(draw.choice(words) for _ in range(draw.randint(1, MOST)))

    return _WORD.sub(other, text)
