"""Product ids: a pseudo-random permutation of the numbers, which does not reveal their order.

They have digits only, which are few tokens of a small model's vocabulary: it has to copy them.
"""

from agentgym_envs.webshop.generator.draw import digest

_LENGTH = 8
_COUNT = 10**_LENGTH
_HALF = 14
"""Bits of a half: two halves hold the first power of four above `_COUNT`."""
_MASK = (1 << _HALF) - 1


def asin(seed: int, number: int) -> str:
    """The id of a product number: a permutation of all ids (a Feistel network of four rounds), so that
    no two are equal whatever the size of a catalogue.

    >>> asin(0, 0) != asin(0, 1), len(asin(0, 7))
    (True, 10)
    """
    value = _permuted(seed, number)
    while value >= _COUNT:  # outside of the ids: follow the cycle until it returns into them
        value = _permuted(seed, value)
    return f"B0{value:0{_LENGTH}}"


def _permuted(seed: int, value: int) -> int:
    left, right = value >> _HALF, value & _MASK
    for turn in range(4):
        left, right = right, left ^ (digest(seed, "asin", turn, right) & _MASK)
    return left << _HALF | right
