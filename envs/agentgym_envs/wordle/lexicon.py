"""Word lists, their splits, and words that are consistent with marks.

answers of five letters    2,257, of which 80 % are in `train`, 10 % in `valid` and `test` each
other allowed guesses      4,253
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Final

VERSION: Final = "1"
"""Part of `data_version`: another list makes other tasks."""

LENGTHS: Final = (4, 5, 6)
SPLITS: Final = ("train", "valid", "test")
SMALL: Final = 200
"""Words of the small list: answers and allowed guesses."""
TINY: Final = 40
"""Words of the list of AgentGym's variant."""

GREEN, YELLOW, BLACK = "g", "y", "b"


def split_of(word: str) -> str:
    """Split of an answer: a function of the word alone."""
    return {0: "valid", 1: "test"}.get(_digest(word) % 10, "train")


@cache
def answers(length: int) -> tuple[str, ...]:
    """All words that can be hidden, in alphabetical order."""
    return _read(f"answers-{length}.txt")


@cache
def allowed(length: int) -> frozenset[str]:
    """All words that can be guessed."""
    return frozenset((*answers(length), *_read(f"guesses-{length}.txt")))


@cache
def small(length: int, size: int = SMALL) -> tuple[str, ...]:
    """A list of `size` answers in alphabetical order, of which each split has its share."""
    drawn = sorted(answers(length), key=lambda word: (_digest(f"small {word}"), word))
    return tuple(sorted(drawn[:size]))


@cache
def of_split(words: tuple[str, ...], split: str) -> tuple[str, ...]:
    """Answers of a split in an order that does not follow the alphabet."""
    found = [word for word in words if split_of(word) == split]
    return tuple(sorted(found, key=lambda word: (_digest(f"order {word}"), word)))


def marks(guess: str, answer: str) -> str:
    """Marks of a guess: green letters first, then yellow ones from left to right while copies remain."""
    left = Counter(a for g, a in zip(guess, answer, strict=True) if g != a)
    found = list[str]()
    for letter, hidden in zip(guess, answer, strict=True):
        if letter == hidden:
            found.append(GREEN)
        elif left[letter] > 0:
            left[letter] -= 1
            found.append(YELLOW)
        else:
            found.append(BLACK)
    return "".join(found)


def simple_marks(guess: str, answer: str) -> str:
    """Marks as LMRL-Gym (arXiv:2311.18232) has them: a letter that is elsewhere is yellow in every place."""
    return "".join(
        GREEN if letter == hidden else YELLOW if letter in answer else BLACK
        for letter, hidden in zip(guess, answer, strict=True)
    )


class Lexicon:
    """A list of words, with a bit for each word: sets of words are whole numbers."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.whole = (1 << len(self.words)) - 1
        self._at: dict[tuple[int, str], int] = {}
        self._holds: dict[tuple[str, int], int] = {}
        for place, word in enumerate(self.words):
            for position, letter in enumerate(word):
                self._at[position, letter] = self._at.get((position, letter), 0) | 1 << place
            for letter, count in Counter(word).items():
                for least in range(1, count + 1):
                    self._holds[letter, least] = self._holds.get((letter, least), 0) | 1 << place

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def bit(self, word: str) -> int:
        """The set of this word alone; empty if the list has it not."""
        place = self._places.get(word)
        return 0 if place is None else 1 << place

    def among(self, words: int) -> list[str]:
        """The words of a set, in the order of the list."""
        found = list[str]()
        while words:
            lowest = words & -words
            found.append(self.words[lowest.bit_length() - 1])
            words ^= lowest
        return found

    def consistent(self, words: int, guess: str, told: str, *, simple: bool = False) -> int:
        """Those of a set of words for which `guess` has the marks `told`, by `marks` or `simple_marks`."""
        for position, (letter, mark) in enumerate(zip(guess, told, strict=True)):
            here = self._at.get((position, letter), 0)
            words &= here if mark == GREEN else ~here
        for letter in dict.fromkeys(guess):
            own = [mark for other, mark in zip(guess, told, strict=True) if other == letter]
            present = sum(mark != BLACK for mark in own)
            if present:
                words &= self._holds.get((letter, 1 if simple else present), 0)
            if BLACK in own:
                words &= ~self._holds.get((letter, present + 1), 0)
        return words


def sizes(guess: str, words: Iterable[str]) -> Counter[str]:
    """Number of words by the marks that the guess would get."""
    return Counter(marks(guess, word) for word in words)


def _read(name: str) -> tuple[str, ...]:
    text = files("agentgym_envs.wordle").joinpath("words", name).read_text("ascii")
    return tuple(text.split())


def _digest(text: str) -> int:
    return int.from_bytes(sha256(f"agentevol.wordle.{VERSION}.{text}".encode()).digest()[:8])
