"""A player that knows the word list. With care it guesses what leaves the fewest words on average; without,
the same words in every game.
"""

from functools import cache, lru_cache
from random import Random
from typing import Final

from agentgym_envs.wordle.lexicon import Lexicon, marks, sizes

MOST_GUESSES: Final = 60
"""Words among which a guess is chosen: evenly from those that are left."""
MOST_WORDS: Final = 400
"""Words over which it is judged, evenly from those that are left."""


def guesses(lexicon: Lexicon, answer: str, tries: int, draw: Random, care: float = 1.0) -> list[str]:
    """Guesses until the answer or the last try.

    With probability `care` the marks of a guess are considered, and with the same probability it is then the
    best of the words that are left, otherwise any of them. Without regard for the marks it is the habitual
    word of the try.
    """
    left, said = lexicon.whole, list[str]()
    while len(said) < tries and (not said or said[-1] != answer):
        guess = _guess(lexicon, left, len(said), draw, care)
        said.append(guess)
        left = lexicon.consistent(left, guess, marks(guess, answer))
    return said


def _guess(lexicon: Lexicon, left: int, tried: int, draw: Random, care: float) -> str:
    if draw.random() >= care:
        habit = habits(lexicon)
        return habit[tried % len(habit)]
    if draw.random() >= care:
        return draw.choice(lexicon.among(left))
    return _best_left(lexicon, left)


def best(words: tuple[str, ...]) -> str:
    """The guess with the smallest expected number of words left, sum n^2 / N over its marks; of equal ones
    the first in the alphabet.
    """
    judged = _evenly(words, MOST_WORDS)
    return min(
        _evenly(words, MOST_GUESSES),
        key=lambda guess: (sum(count**2 for count in sizes(guess, judged).values()), guess),
    )


@cache
def habits(lexicon: Lexicon, count: int = 6) -> tuple[str, ...]:
    """Words that are guessed without regard for the marks: the best first one, then always the word with the
    most letters that were not tried yet; of equal ones the first in the alphabet.
    """
    found = [_best_left(lexicon, lexicon.whole)]
    while len(found) < min(count, len(lexicon.words)):
        tried = set("".join(found))
        others = (word for word in lexicon.words if word not in found)
        found.append(min(others, key=lambda word: (-len(set(word) - tried), word)))
    return tuple(found)


@lru_cache(1 << 16)
def _best_left(lexicon: Lexicon, left: int) -> str:
    """The best of a set of words: games that begin alike have the same sets."""
    return best(tuple(lexicon.among(left)))


def _evenly(words: tuple[str, ...], most: int) -> tuple[str, ...]:
    if len(words) <= most:
        return words
    return tuple(words[place * len(words) // most] for place in range(most))
