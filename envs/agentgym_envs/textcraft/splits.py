"""Splits of goals: by a hash of the goal's name within each depth, and classes that no other split has."""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Final

from agentgym_envs.textcraft.recipes import RecipeBook, text_of

UNSEEN: Final = "unseen_classes"
SPLITS: Final = ("train", "valid", "test", UNSEEN)


@cache
def goals_by_split(book: RecipeBook, unseen: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    """Goals of each split by depth and name: of each depth 80 % for `train`, 10 % for `valid` and `test`."""
    found: dict[str, list[str]] = {split: [] for split in SPLITS}
    by_depth: dict[int, list[str]] = {}
    for goal in book.goals:
        if book.classes_of.get(goal, frozenset()) & unseen:
            found[UNSEEN].append(goal)
        else:
            by_depth.setdefault(book.depths[goal], []).append(goal)
    for goals in by_depth.values():
        ranked = sorted(goals, key=lambda goal: sha256(text_of(goal).encode()).digest())
        part = max(1, round(len(ranked) / 10)) if len(ranked) >= 3 else 0
        for split, chosen in (
            ("test", ranked[:part]),
            ("valid", ranked[part : 2 * part]),
            ("train", ranked[2 * part :]),
        ):
            found[split] += sorted(chosen, key=book.goals.index)
    return {split: tuple(goals) for split, goals in found.items()}
