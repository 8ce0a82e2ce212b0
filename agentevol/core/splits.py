"""Choice of tasks from a split, and held-out parts of a split.

`train:valid` names a part of the split `train`: tasks that are held out of it, for an environment without a
split `valid`. Their positions are spread over the split and do not depend on the run.

    > held_out("train:valid", 0.1)(20)
    [0, 11]
"""

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

import numpy as np

PARTS = ("valid", "test")
"""Held-out parts that a split can have."""
GOLDEN = 0.6180339887498949
"""Multiples of it, modulo 1, fill the unit interval evenly."""

Choice = Callable[[int], Sequence[int]]
"""Function from the number of tasks in a split to the chosen positions."""


def iteration_seed(seed: int, iteration: int) -> int:
    """Seed of an iteration's drawings (selection, replay, training), in a run with this seed."""
    return seed * 1000 + iteration


def spread(count: int | None) -> Choice:
    """At most `count` positions, evenly over the split (None: all): the same in every run.

    One of each of `count` equal intervals, not always at the same place of it: where levels alternate, equal
    steps would choose the same level again and again.
    """

    def choose(total: int) -> list[int]:
        wanted = min(count or total, total)
        ends = [number * total // max(wanted, 1) for number in range(wanted + 1)]
        return [
            first + int((number * GOLDEN % 1.0) * (end - first))
            for number, (first, end) in enumerate(pairwise(ends))
        ]

    return choose


def drawn(seed: int, first: int, count: int) -> Choice:
    """At most `count` different positions in a random order of the split, from place `first` of it on.

    Different seeds draw different orders; splits are often sorted by kind. A caller that continues at `first`
    + `count` gets no task again before the next round.
    """

    def choose(total: int) -> list[int]:
        begin, needed = first % total, min(count, total)
        order = np.random.default_rng([seed, first // total]).permutation(total)
        if begin + needed > total:  # into the next round, without the tasks that end this one
            ending = order[begin:]
            following = np.random.default_rng([seed, first // total + 1]).permutation(total)
            order = np.concatenate([order, following[~np.isin(following, ending)]])
        return order[begin : begin + needed].tolist()

    return choose


def parent(split: str) -> str:
    """Parent of the part `split`; the split itself where it is a whole one."""
    whole, mark, part = split.rpartition(":")
    return whole if mark and part in PARTS else split


def held_out(split: str, share: float) -> Choice:
    """Positions of the held-out part `split` (`train:valid`): `share` of its parent, at least one task.

    The parts of one split are disjoint. A split of one task has no second part.
    """
    number = PARTS.index(split.rpartition(":")[2])

    def choose(total: int) -> Sequence[int]:
        return spread(len(PARTS) * max(1, round(share * total)))(total)[number :: len(PARTS)]

    return choose


def remaining(parts: Collection[str], share: float) -> Choice:
    """All positions of a split but those of its held-out `parts`."""

    def choose(total: int) -> Sequence[int]:
        taken = {position for part in parts for position in held_out(part, share)(total)}
        return [position for position in range(total) if position not in taken]

    return choose


def within(choose: Choice, part: Choice) -> Choice:
    """A choice among the positions of a part of the split."""

    def chosen(total: int) -> list[int]:
        positions = part(total)
        return [positions[place] for place in choose(len(positions))]

    return chosen
