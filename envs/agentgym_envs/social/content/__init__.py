"""Content of generated tasks: names, nouns and wordings, in pools of which no two splits share an entry."""

from typing import Final

SPLITS: Final = ("train", "valid", "test")
Pools = dict[str, tuple[str, ...]]
"""Entries by split."""
