"""Shares of a pool of items, and what they are worth."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from operator import mul

Share = tuple[int, ...]
"""Items of each kind that one seat keeps."""


def worth(share: Share, values: Share) -> int:
    """Points of a share."""
    return sum(map(mul, share, values))


def rest(share: Share, pool: Share) -> Share:
    """Rest of the pool."""
    return tuple(all_ - own for all_, own in zip(pool, share, strict=True))


@lru_cache(maxsize=1024)
def shares(pool: Share) -> tuple[Share, ...]:
    """All shares of a pool."""
    return tuple(product(*(range(count + 1) for count in pool)))


@lru_cache(maxsize=1024)
def value_vectors(pool: Share, total: int) -> tuple[Share, ...]:
    """All non-negative whole values by kind with which the pool is worth `total`."""
    ranges = [range(total // count + 1) for count in pool]
    return tuple(values for values in product(*ranges) if worth(pool, values) == total)


def is_efficient(share: Share, pool: Share, own: Share, other: Share) -> bool:
    """Whether no other division is better for one seat and not worse for the other (Pareto)."""
    mine, theirs = worth(share, own), worth(rest(share, pool), other)
    return not any(
        worth(one, own) >= mine
        and worth(rest(one, pool), other) >= theirs
        and (worth(one, own), worth(rest(one, pool), other)) != (mine, theirs)
        for one in shares(pool)
    )


def offer_text(items: Sequence[str], share: Share) -> str:
    """The move that proposes to keep a share."""
    return "[OFFER me: " + " ".join(f"{item}={n}" for item, n in zip(items, share, strict=True)) + "]"
