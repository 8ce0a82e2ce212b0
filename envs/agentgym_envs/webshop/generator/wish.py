"""A goal of the generated catalogue, with what is known of it besides."""

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from agentgym_envs.webshop.rewards import Goal

Difficulty = Literal["small", "medium", "large"]
DIFFICULTIES: tuple[Difficulty, ...] = ("small", "medium", "large")
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True)
class Wish:
    """One goal."""

    goal: Goal
    """Its options are values, without their groups."""
    id: str
    """16 hexadecimal digits, of what is asked for and in which words: stable wherever it is made."""
    split: str
    """`train`, `valid` or `test`: one for all goals of a family."""
    difficulty: str
    """`small`, `medium` or `large`: 1, 1 to 2 or 2 to 3 attributes, and 0 to 1, 1 to 2 or 2 to 3 options."""
    family: str


def identity(asin: str, attributes: tuple[str, ...], options: tuple[str, ...], template: str) -> str:
    """Of a goal.

    >>> len(identity("B0", ("dry clean",), (), "need"))
    16
    """
    text = json.dumps([asin, attributes, options, template], ensure_ascii=True)
    return blake2b(text.encode(), digest_size=8).hexdigest()
