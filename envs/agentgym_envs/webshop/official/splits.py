"""Splits of goals: the benchmark's by number, and one by product for claims about training."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Literal

from agentgym_envs.webshop.wishes import Wish

Split = Literal["train", "valid", "test"]
TEST, VALID = 500, 1500
"""Upper bounds of the goal numbers for tests and, among human ones, for validation."""
_TENTHS: tuple[Split, ...] = ("train",) * 8 + ("valid", "test")


def official(goal_set: str, goals: int) -> list[Split]:
    """Splits of `synthetic` or `human` goals by number: 0 to 499 test, human 500 to 1499 validation (the
    benchmark's dev), the rest training. A set of fewer than 500 is all test.
    """
    valid = VALID if goal_set == "human" else TEST
    return ["test" if number < TEST else "valid" if number < valid else "train" for number in range(goals)]


def disjoint(wishes: Iterable[Wish], seed: int) -> list[Split]:
    """Split of each wish by its product, so that splits share no product: about 80, 10 and 10 % of products.
    In the official split of the small set 96 % of the tests' goals share their product with training.
    """
    return [_TENTHS[_number(wish.goal.asin, seed) % len(_TENTHS)] for wish in wishes]


def _number(asin: str, seed: int) -> int:
    return int.from_bytes(blake2b(f"split {seed} {asin}".encode(), digest_size=8).digest(), "big")
