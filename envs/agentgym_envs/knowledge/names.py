"""Invented words of each split: given names, surnames, places, countries, and words for titles.

> words("test").surnames[:2]
('Rielek', 'Pigero')

A word belongs to one split, by a hash of its text, so that no name of one split occurs in another.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from zlib import crc32

from agentgym_envs.knowledge.rows import listed

SPLITS = ("train", "valid", "test", "agentgym")
"""`agentgym`: the tasks with the numbers that AgentGym's clients count on."""

ONSETS = listed("b br c d dr f fl g gr h j k kr l m n p pr r s sk st t tr v vr w y z")
VOWELS = listed("a e i o u ai ea ie")
MIDDLES = listed("b d f g k l ld lm m n nd nt p r rd rk s st t v x z")
ACCENTED = {"a": "á", "e": "é", "i": "í", "o": "ø", "u": "ü"}
ONE_IN_ACCENTED = 12
_PLAIN = str.maketrans({accented: plain for plain, accented in ACCENTED.items()})

GIVEN = listed("a an ea el en ia in is o on ra yn")
SURNAMES = listed("ard ek enko er ero ez ik ine man ott ov sko sson ur well")
PLACES = listed("by don fell field ford grad ham haven mere mouth port stad ton vale wick")
COUNTRIES = listed("ania aria esia ica idia ola onia ora ova ustan")
COINED = listed("an ar el era eth in ion is or um ur yx")


@dataclass(frozen=True)
class Words:
    """The invented words of one split, without repetition, capitalised."""

    given: tuple[str, ...]
    surnames: tuple[str, ...]
    places: tuple[str, ...]
    countries: tuple[str, ...]
    coined: tuple[str, ...]
    """For titles of films and papers, companies and venues."""


def split_of(word: str) -> str:
    """The split to which an invented word belongs."""
    return SPLITS[crc32(word.casefold().encode()) % len(SPLITS)]


def unaccented(word: str) -> str:
    """An invented word with plain letters. Some alphabets order accented letters as these, some after z."""
    return word.translate(_PLAIN)


@cache
def words(split: str) -> Words:
    """The words of a split; raises `ValueError` for an unknown one."""
    if split not in SPLITS:
        raise ValueError(f"there is no split {split[:80]!r}; there are: {', '.join(SPLITS)}")
    return Words(
        given=_chosen(split, GIVEN, 150),
        surnames=_chosen(split, SURNAMES, 600),
        places=_chosen(split, PLACES, 300),
        countries=_chosen(split, COUNTRIES, 60),
        coined=_chosen(split, COINED, 1500),
    )


def _chosen(split: str, endings: tuple[str, ...], count: int) -> tuple[str, ...]:
    return tuple(islice((word for word in _built(endings) if split_of(word) == split), count))


def _built(endings: tuple[str, ...]) -> Iterator[str]:
    """All words with these endings, in one order for all splits."""
    draw = random.Random(f"agentevol.knowledge.words.{'.'.join(endings)}")
    stems = list(product(ONSETS, VOWELS, MIDDLES))
    draw.shuffle(stems)
    for onset, vowel, middle in stems:
        end = draw.choice(endings)
        link = "" if end[0] in "aeiouy" else draw.choice("aeio")
        stem = f"{onset}{vowel}{middle}{link}"
        if draw.randrange(ONE_IN_ACCENTED) == 0:
            stem = f"{onset}{ACCENTED[vowel[0]]}{middle}{link}"
        yield f"{stem}{end}".capitalize()
