"""Goals are recognised by their structure; every other shape is refused."""

import pytest

from agentgym_envs.alfworld.game import GameError
from agentgym_envs.alfworld.goals import Goal, parse_goal

LIGHT = (
    "(:goal (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (toggleable ?ot)"
    " (objectType ?ot DeskLampType) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l)"
    " (inReceptacle ?ot ?r) ) )"
    " (exists (?o - object ?a - agent) (and (objectType ?o MugType) (holds ?a ?o){more} ) ) ) ) )"
)
TWO = (
    "(:goal (and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 MugType)"
    " (receptacleType ?r DeskType) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2))"
    " (objectType ?o2 MugType) (receptacleType ?r DeskType) (inReceptacle ?o2 ?r){more} ) ) ) ) ) ) ) )"
)


def place(more: str = "", kind: str = "MugType") -> str:
    return (
        "(:goal (and (exists (?r - receptacle) (exists (?o - object) (and (inReceptacle ?o ?r)"
        f" (objectType ?o {kind}) (receptacleType ?r DeskType) {more}) ) ) ) ) )"
    )


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        (place(), Goal("pick_and_place_simple", "mugtype", "desktype")),
        (
            place("(cleanable ?o) (isClean ?o)"),
            Goal("pick_clean_then_place_in_recep", "mugtype", "desktype", 1, "clean"),
        ),
        (
            place("(heatable ?o) (isHot ?o)"),
            Goal("pick_heat_then_place_in_recep", "mugtype", "desktype", 1, "hot"),
        ),
        (
            place("(coolable ?o) (isCool ?o)"),
            Goal("pick_cool_then_place_in_recep", "mugtype", "desktype", 1, "cool"),
        ),
        (TWO.format(more=""), Goal("pick_two_obj_and_place", "mugtype", "desktype", 2)),
        (LIGHT.format(more=""), Goal("look_at_obj_in_light", "mugtype", "desklamptype")),
        (place("(isSliced ?o)"), Goal("pick_and_place_simple", "mugtype", "desktype", sliced=True)),
        (
            place("(heatable ?o) (isHot ?o) (sliceable ?o) (isSliced ?o)"),
            Goal("pick_heat_then_place_in_recep", "mugtype", "desktype", 1, "hot", sliced=True),
        ),
        (
            TWO.format(more=" (isSliced ?o1) (isSliced ?o2)"),
            Goal("pick_two_obj_and_place", "mugtype", "desktype", 2, sliced=True),
        ),
        (
            LIGHT.format(more=" (isSliced ?o)"),
            Goal("look_at_obj_in_light", "mugtype", "desklamptype", sliced=True),
        ),
    ],
)
def test_the_six_shapes_are_told_apart_sliced_or_not(text: str, goal: Goal) -> None:
    assert parse_goal(text) == goal


def test_names_of_variables_and_nesting_do_not_matter() -> None:
    text = (
        "(:GOAL (exists (?thing - object ?where - receptacle) (and (and (objectType ?thing MugType))"
        " (receptacleType ?where DeskType) (inReceptacle ?thing ?where))))"
    )
    assert parse_goal(text) == Goal("pick_and_place_simple", "mugtype", "desktype")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "goal",
        "(:goal",
        "(:goal)",
        "(:goal ())",
        "(:init (and))",
        "(" * 3_000,
        f"(:goal {'(and ' * 40}(openable x){')' * 40})",
        f"(:goal (and {'(openable x) ' * 500}))",
        place("(isHot ?o)"),  # hot, but not heatable
        place("(heatable ?o) (isHot ?o) (isClean ?o)"),
        place("(cleanable ?o) (isClean ?o) (heatable ?o) (isHot ?o)"),
        place("(opened ?r)"),
        place("(objectType ?o CupType)"),  # of two types
        place("(sliceable ?o)"),
        place("(isClean ?x)"),  # a variable of nowhere
        place("(not (isClean ?o))"),
        place("(not (= ?o ?r))"),
        TWO.format(more=" (isSliced ?o2)"),  # only one of the two
        TWO.format(more="").replace("(objectType ?o2 MugType)", "(objectType ?o2 CupType)"),
        TWO.format(more="").replace("(not (= ?o1 ?o2))", ""),
        LIGHT.format(more="").replace("(toggleable ?ot)", ""),
        LIGHT.format(more="").replace("(inReceptacle ?ot ?r)", "(inReceptacle ?o ?r)"),
        place().replace("exists", "forall"),
        place().replace("(and (inReceptacle", "(or (inReceptacle"),
        place().replace("?o - object", "?o"),
    ],
)
def test_any_other_shape_is_refused(text: str) -> None:
    with pytest.raises(GameError, match="the goal"):
        parse_goal(text)
