"""A player that knows the word list, and guesses what leaves the fewest words on average."""

from functools import cache
from random import Random
from typing import Final

from agentgym_envs.wordle.lexicon import Lexicon, marks, sizes

MOST_GUESSES: Final = 60
"""Words among which a guess is chosen: evenly from those that are left."""
MOST_WORDS: Final = 400
"""Words over which it is judged, evenly from those that are left."""


def guesses(lexicon: Lexicon, answer: str, tries: int, draw: Random, care: float = 1.0) -> list[str]:
    """Guesses until the answer or the last try; each is a random word that is left with probability
    1 - `care`.
    """
    left, said = lexicon.whole, list[str]()
    while len(said) < tries and (not said or said[-1] != answer):
        words = lexicon.among(left)
        careless = care < 1 and draw.random() >= care
        guess = draw.choice(words) if careless else _first(lexicon) if not said else best(tuple(words))
        said.append(guess)
        left = lexicon.consistent(left, guess, marks(guess, answer))
    return said


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
def _first(lexicon: Lexicon) -> str:
    return best(lexicon.words)


def _evenly(words: tuple[str, ...], most: int) -> tuple[str, ...]:
    if len(words) <= most:
        return words
    return tuple(words[place * len(words) // most] for place in range(most))
