"""Names of generated goals: difficulties, splits, and ids."""

import json
from hashlib import blake2b
from typing import Literal

Difficulty = Literal["small", "medium", "large"]
DIFFICULTIES: tuple[Difficulty, ...] = ("small", "medium", "large")
SPLITS = ("train", "valid", "test")


def identity(asin: str, attributes: tuple[str, ...], options: tuple[str, ...], template: str) -> str:
    """The id of a goal.

    >>> len(identity("B0", ("dry clean",), (), "need"))
    16
    """
    text = json.dumps([asin, attributes, options, template], ensure_ascii=True)
    return blake2b(text.encode(), digest_size=8).hexdigest()
