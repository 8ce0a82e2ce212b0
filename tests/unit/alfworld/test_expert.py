"""The expert wins from any state that can still be won, and says so where it cannot."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from agentgym_envs.alfworld.expert import DeadEnd, plan
from agentgym_envs.alfworld.game import read_compact_line
from agentgym_envs.alfworld.scene import Dialect, parse
from agentgym_envs.alfworld.world import World

KITCHEN = read_compact_line((Path(__file__).parent / "alfworld_kitchen.json").read_text())
LIGHT = (
    "(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (toggleable ?ot)"
    " (objectType ?ot DeskLampType) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l)"
    " (inReceptacle ?ot ?r)))"
    " (exists (?o - object ?a - agent) (and (objectType ?o MugType) (holds ?a ?o)))))"
)
TWO = (
    "(:goal (exists (?r - receptacle ?o1 - object ?o2 - object) (and (not (= ?o1 ?o2)) (inReceptacle ?o1 ?r)"
    " (inReceptacle ?o2 ?r) (objectType ?o1 MugType) (objectType ?o2 MugType)"
    " (receptacleType ?r CabinetType))))"
)


def place(target: str, more: str = "", kind: str = "Mug") -> str:
    return (
        f"(:goal (exists (?r - receptacle ?o - object) (and (inReceptacle ?o ?r) (objectType ?o {kind}Type)"
        f" (receptacleType ?r {target}Type) {more})))"
    )


CLEAN = place("Fridge", "(cleanable ?o) (isClean ?o)")
HEAT = place("SinkBasin", "(heatable ?o) (isHot ?o)")
COOL = place("Cabinet", "(coolable ?o) (isCool ?o)")
SLICED = place("CounterTop", "(coolable ?o) (isCool ?o) (isSliced ?o)", kind="Apple")
GOALS = (KITCHEN.goal, LIGHT, TWO, CLEAN, HEAT, COOL, SLICED)


def kitchen(goal: str, *more: str, dialect: Dialect = "move", less: tuple[str, ...] = ()) -> World:
    facts = tuple(fact for fact in KITCHEN.facts if fact not in less) + more
    return World(parse(replace(KITCHEN, facts=facts, goal=goal), dialect))


def follow(world: World, commands: list[str]) -> None:
    """Carry the commands out; the world is won after the last one and not before."""
    for command in commands:
        assert not world.won
        assert world.step(command) != "Nothing happens."
    assert world.won


def test_the_plan_is_literal_and_leaves_the_world_alone() -> None:
    world = kitchen(HEAT)
    assert plan(world) == [
        "go to countertop 1",
        "take mug 2 from countertop 1",
        "go to microwave 1",
        "heat mug 2 with microwave 1",
        "go to sinkbasin 1",
        "move mug 2 to sinkbasin 1",
    ]
    assert world.step("inventory") == "You are not carrying anything."


def test_the_plan_speaks_the_dialect_of_the_scene() -> None:
    commands = plan(kitchen(KITCHEN.goal, dialect="put"))
    assert commands[-1] == "put mug 2 in/on cabinet 2"
    follow(kitchen(KITCHEN.goal, dialect="put"), commands)


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_is_won_from_the_start(goal: str) -> None:
    follow(kitchen(goal), plan(kitchen(goal)))


@pytest.mark.parametrize("goal", GOALS)
def test_every_goal_is_won_from_wherever_chance_led_unless_the_hand_is_stuck(goal: str) -> None:
    winnable = [world for world in (wander(goal, seed) for seed in range(60)) if not is_stuck(world)]
    assert len(winnable) > 30
    for world in winnable:
        follow(world, plan(world))


def wander(goal: str, seed: int) -> World:
    world, random = kitchen(goal), Random(seed)
    for _ in range(20):
        world.step(random.choice(world.admissible()))
    return world


def is_stuck(world: World) -> bool:
    return world.holding == "teddybear 1" and not world.won


def test_nothing_is_left_to_do_in_a_world_that_is_won() -> None:
    world = kitchen(KITCHEN.goal)
    follow(world, plan(world))
    assert plan(world) == []


def test_an_untreated_object_in_the_target_is_taken_out_and_put_back() -> None:
    only = ("inReceptacle Mug_bar_02 CounterTop_bar_01", "inReceptacle Mug_bar_02 SideTable_bar_01")
    gone = (*only, "inReceptacle Mug_bar_01 CounterTop_bar_01")
    world = kitchen(HEAT, "inReceptacle Mug_bar_01 Sink_bar_01_bar_SinkBasin", less=gone)
    commands = plan(world)
    assert commands[:2] == ["go to sinkbasin 1", "take mug 2 from sinkbasin 1"]
    follow(world, commands)


def test_what_is_treated_already_is_not_treated_again() -> None:
    commands = plan(kitchen(COOL, "isCool Mug_bar_02"))
    assert commands[1] == "take mug 1 from countertop 1"
    assert not any(command.startswith("cool") for command in commands)


def test_a_held_stranger_is_dropped_outside_the_target_first() -> None:
    world = kitchen(KITCHEN.goal)
    world.step("go to countertop 1")
    world.step("take knife 1 from countertop 1")
    assert plan(world)[0] == "move knife 1 to countertop 1"


def test_of_several_places_to_drop_a_stranger_one_outside_the_target_is_taken() -> None:
    goal, moved = place("Cabinet", kind="Bowl"), "inReceptacle Bowl_bar_01 SideTable_bar_01"
    world = kitchen(goal, moved, less=("inReceptacle Bowl_bar_01 Cabinet_bar_01",))
    world.step("go to countertop 1")
    world.step("take mug 2 from countertop 1")
    assert plan(world)[0] == "move mug 2 to countertop 1"  # the cabinet comes first by id


def test_a_hand_full_of_what_fits_nowhere_is_a_dead_end() -> None:
    world = kitchen(KITCHEN.goal)
    world.step("go to sidetable 1")
    world.step("take teddybear 1 from sidetable 1")
    with pytest.raises(DeadEnd, match="teddybear 1 is in the hand and fits nowhere"):
        plan(world)


@pytest.mark.parametrize(
    ("goal", "less", "reason"),
    [
        (place("Desk"), (), "too few objects for any receptacle"),
        (place("Microwave"), (), "too few objects for any receptacle"),  # nothing may be put there
        (LIGHT, ("toggleable DeskLamp_bar_01",), "there is no lamp"),
        (SLICED, ("pickupable Knife_bar_01",), "there is no knife"),
        (HEAT, ("heatable Mug_bar_01", "heatable Mug_bar_02"), "too few objects"),
        (LIGHT, ("pickupable Mug_bar_01", "pickupable Mug_bar_02"), "nothing of the goal's type"),
    ],
)
def test_what_the_room_does_not_offer_is_named(goal: str, less: tuple[str, ...], reason: str) -> None:
    with pytest.raises(DeadEnd, match=reason):
        plan(kitchen(goal, less=less))
