"""The same in other words: a text whose words are exchanged for any others of a vocabulary.

Who has to say again what it reads, and reads the same few hundred words all the time, learns these words and
not to copy. A sentence that begins as none did before shows the difference.
"""

import re
from collections.abc import Sequence
from random import Random

MOST = 3
"""Words that one is exchanged for."""
_WORD = re.compile(r"[a-z]+")


def reworded(text: str, words: Sequence[str], draw: Random) -> str:
    """With a drawn share of its words, from none to all, exchanged each for one to `MOST` of `words`.

    >>> reworded("find me 2 rugs, soon", ["mist"], Random(4))
    'find mist mist 2 rugs, mist'
    """
    share = draw.random()

    def other(found: re.Match[str]) -> str:
        if draw.random() >= share:
            return found[0]
        return " ".join(draw.choice(words) for _ in range(draw.randint(1, MOST)))

    return _WORD.sub(other, text)
