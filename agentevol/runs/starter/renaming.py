"""Renaming: names in a demonstration are replaced by others, the same one wherever a name occurs.

Splits that share no entities share no names, so that a model trained on demonstrations of one split would
know none of the words that it has to repeat in another. With a new name in every episode it learns to copy
names instead of memorising them.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from random import Random

from agentevol.models.word_tokenizer import SPACE
from agentevol.runs.starter.sequences import Turn

_WORD = re.compile(r"[^\W\d_]+")


def names_in(texts_by_split: Iterable[Iterable[str]], *, any_case: bool = False) -> set[str]:
    """Names, in lower case: words that only one split has, capitalised in one of its texts at least unless
    in `any_case`.

    >>> sorted(names_in([["Ask Ada about a.ada", "Never"], ["Ask Bo about b"]]))
    ['ada', 'bo', 'never']
    >>> sorted(names_in([["a kayak for Ada"], ["a drone for Bo"]], any_case=True))
    ['ada', 'bo', 'drone', 'kayak']
    """
    splits = [{word for text in texts for word in _WORD.findall(text)} for texts in texts_by_split]
    lower = [{word.lower() for word in words} for words in splits]
    capitals = {word.lower() for words in splits for word in words if word[0].isupper()}
    candidates = set().union(*lower) if any_case else capitals
    return {word for word in candidates if sum(word in words for words in lower) == 1}


def unread(episodes: Iterable[Sequence[Turn]]) -> set[str]:
    """Words, in lower case, that the player says in an episode before it has read them there: its own, which
    no other word can replace.

    >>> unread([[Turn("Ada calls", "Let us ask Ada")]])
    {'let', 'us', 'ask'}
    """
    found = set[str]()
    for turns in episodes:
        read = set[str]()
        for heard, said in turns:
            read |= _words(heard)
            found |= _words(said) - read
    return found


class Renamer:
    """Random renaming of the names in an episode.

    A name is replaced by one that is a single token in every spelling in which the name itself is: with and
    without a space before it, capitalised or not.
    """

    def __init__(self, names: Collection[str], vocabulary: Collection[str]) -> None:
        spellings = {name: _spellings(name, vocabulary) for name in sorted(names)}
        self._others: Mapping[str, Sequence[str]] = {
            name: [other for other, theirs in spellings.items() if theirs >= own]
            for name, own in spellings.items()
            if own
        }

    def tokens(self, vocabulary: Mapping[str, int]) -> frozenset[int]:
        """Tokens of a vocabulary that are names, in any spelling."""
        return frozenset(
            number for word, number in vocabulary.items() if word.removeprefix(SPACE).lower() in self._others
        )

    def __call__(self, turns: Sequence[Turn], draw: Random) -> list[Turn]:
        """The episode with other names, different ones for different names while there are enough."""
        text = "\n".join(part for turn in turns for part in turn)
        found = sorted(_words(text) & self._others.keys())
        chosen: dict[str, str] = {}
        for name in found:
            left = [other for other in self._others[name] if other not in chosen.values()]
            chosen[name] = draw.choice(left or [name])
        return [Turn(*(_replaced(part, chosen) for part in turn)) for turn in turns]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _spellings(name: str, vocabulary: Collection[str]) -> set[tuple[str, bool]]:
    """Spellings of a name that are tokens: the space before it or none, and whether it is capitalised."""
    return {
        (space, is_capital)
        for space, is_capital in product(("", SPACE), (False, True))
        if f"{space}{name.capitalize() if is_capital else name}" in vocabulary
    }


def _replaced(text: str, chosen: Mapping[str, str]) -> str:
    def other(found: re.Match[str]) -> str:
        word = found[0]
        name = chosen.get(word.lower())
        if name is None:
            return word
        return name.capitalize() if word[0].isupper() else name

    return _WORD.sub(other, text)
