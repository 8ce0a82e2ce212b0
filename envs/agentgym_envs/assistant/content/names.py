"""Invented names. Each belongs to one split, so that no split's people or things occur in another."""

import zlib
from collections.abc import Iterable
from functools import cache
from itertools import product
from random import Random

from agentgym_envs.knowledge.rows import listed

SPLITS = ("train", "valid", "test")
FIRST_VALID, FIRST_TEST = 10_000, 20_000
"""Seeds of offices: below `FIRST_VALID` for training, from `FIRST_TEST` for tests."""


FIRST_NAMES = (
    listed("Al Be Cor Da El Fi Ga Ha Is Jo Ka Li Mo Na Or"),
    listed("ba den fi la min na ris sko tje vin zé lou"),
)
LAST_NAMES = (
    listed("Ahl Bran Crom Dorn Esk Fal Grim Hol Ister Jarl Kett Lund"),
    listed("berg dal ford holt kamp land møre quist sen ton wick yard"),
)
PROJECT_NAMES = (
    listed("amber birch cobalt delta ember fjord granite harbor indigo juniper"),
    listed("relaunch audit budget rollout survey workshop migration garden"),
)
VERBS = listed("call check clean draft order pay plan print renew repair review sort")
THINGS = listed(
    "archive badge banner boiler brochure cabinet camera charter contract curtain desk engine fence filter "
    "flyer"
    " fridge gutter invoice ladder lamp lease lift locker manual mirror mug pallet permit poster printer"
    " projector pump ramp roster router scanner shelf sign sofa stamp statute switch ticket toner tray "
    "trolley"
    " valve visa voucher wagon whiteboard window"
)
MEETINGS = listed(
    "briefing review standup interview lunch demo training retrospective picnic walk tour rehearsal"
)
ITEMS = listed(
    "backpack blender bookshelf charger chair coat drill headset kettle keyboard lantern monitor notebook "
    "pillow"
    " rug speaker suitcase tent thermos umbrella"
)
COLORS = listed("black blue coral green grey ivory navy olive red silver teal white")
TEAMS = listed("design finance legal logistics research sales support")
ROOMS = ("Room 1", "Room 2", "Room 3", "Atrium", "Studio", "Library", "Cafeteria")
OUTDOORS = ("Courtyard", "Riverside", "Rose garden", "Roof terrace")
FOLDERS = listed("notes reports plans")


def split_of(seed: int) -> str:
    """The split of an office."""
    return "train" if seed < FIRST_VALID else "valid" if seed < FIRST_TEST else "test"


@cache
def first_names(split: str) -> tuple[str, ...]:
    """First names of a split."""
    return _share(split, map("".join, product(*FIRST_NAMES)))


@cache
def last_names(split: str) -> tuple[str, ...]:
    """Last names of a split."""
    return _share(split, map("".join, product(*LAST_NAMES)))


@cache
def project_names(split: str) -> tuple[str, ...]:
    """Names of projects of a split."""
    return _share(split, map(" ".join, product(*PROJECT_NAMES)))


@cache
def chores(split: str) -> tuple[str, ...]:
    """Titles of to-dos of a split."""
    return tuple(f"{verb} the {subject}" for verb, subject in product(VERBS, subjects(split)))


@cache
def meetings(split: str) -> tuple[str, ...]:
    """Titles of events of a split."""
    return tuple(f"{subject} {meeting}" for subject, meeting in product(subjects(split), MEETINGS))


@cache
def goods(split: str) -> tuple[str, ...]:
    """Names of ordered things of a split."""
    return _share(split, map(" ".join, product(COLORS, ITEMS)))


@cache
def subjects(split: str) -> tuple[str, ...]:
    """Names of things that meetings, files and mails are about."""
    return _share(split, map(" ".join, product(PROJECT_NAMES[0], THINGS)))


def drawn(random: Random, names: tuple[str, ...], count: int) -> list[str]:
    """`count` different names in random order."""
    return random.sample(names, count)


def _share(split: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names of a split: three fifths for training, a fifth each for validation and tests."""
    kept = {"train": (0, 1, 2), "valid": (3,), "test": (4,)}[split]
    return tuple(name for name in names if zlib.crc32(name.encode()) % 5 in kept)
