"""Sample of episodes that people rate: drawn by a seed, in equal parts of won and lost ones."""

import random
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple


class Sampled(NamedTuple):
    """An episode that can be drawn."""

    id: str
    won: bool
    group: str
    """Its model and environment: each outcome is spread over the groups."""


def stratified_sample(episodes: Iterable[Sampled], count: int, seed: int) -> list[str]:
    """Ids of at most `count` episodes in random order: half of them won and half lost, as far as there are,
    and of each outcome as many of one group as of another. The order of `episodes` has no effect.
    """
    known = sorted(episodes)
    draw = random.Random(seed)
    won, lost = (_spread([one for one in known if one.won is outcome], draw) for outcome in (True, False))
    half = min(len(won), max(count // 2, count - len(lost)))
    chosen = [*won[:half], *lost[: max(0, count - half)]]
    draw.shuffle(chosen)
    return chosen


def _spread(episodes: Sequence[Sampled], draw: random.Random) -> list[str]:
    """Ids in random order in which the groups alternate."""
    groups: dict[str, list[str]] = {}
    for one in episodes:
        groups.setdefault(one.group, []).append(one.id)
    orders = list(groups.values())
    for order in orders:
        draw.shuffle(order)
    draw.shuffle(orders)
    return [one for turn in zip_longest(*orders) for one in turn if one is not None]
