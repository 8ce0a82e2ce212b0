"""Proportions of generated rooms, over thousands of them, against those of the official training games."""

from functools import cache

import pytest

from agentgym_envs.alfworld import generator
from agentgym_envs.alfworld.scene import Scene, parse
from agentgym_envs.alfworld.world import World


@cache
def small_rooms() -> list[Scene]:
    """So many, in two seconds, that a share of the wanted objects is within 0.05 of its expectation."""
    return [parse(generator.game("train", "small", index)) for index in range(2400)]


def share_within_target(kind: str) -> float:
    """Share of the wanted objects in receptacles that lie in one of the target's type, over 2,400 rooms."""
    within = wanted = 0
    for scene in small_rooms():
        if scene.goal.kind == kind:
            contents = World(scene).contents
            held = [r for o in scene.goal_objects for r, things in enumerate(contents) if o in things]
            wanted += len(held)
            within += sum(r in scene.goal_receptacles for r in held)
    assert wanted > 400
    return within / wanted


@pytest.mark.parametrize("kind", generator.rooms.TOOLS)
def test_objects_to_be_treated_lie_in_the_target_as_often_as_in_official_rooms(kind: str):
    # 387 of 1,404 to clean, 263 of 1,054 to heat, 286 of 1,021 to cool in the official training games
    assert share_within_target(kind) == pytest.approx(0.27, abs=0.05)


@pytest.mark.parametrize("kind", [generator.SIMPLE, generator.TWO])
def test_objects_to_be_placed_never_lie_in_the_target(kind: str):
    assert share_within_target(kind) == 0
