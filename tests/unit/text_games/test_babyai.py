"""BabyAI: the text layer by hand, its routes against a plain search, levels, splits, and what is paid."""

import contextlib
import io
import subprocess
import sys
from collections import deque
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.hash_seeds import printed

from agentgym_envs.core import TaskNotFound

pytest.importorskip("minigrid", reason="the extra babyai is not installed")

from minigrid.core.world_object import Ball, Box, Door, Key
from minigrid.envs.babyai.core.roomgrid_level import RejectSampling

from agentgym_envs.babyai import BabyAI, BabyAITask, levels
from agentgym_envs.babyai.actions import Choices, choices
from agentgym_envs.babyai.episode import moment
from agentgym_envs.babyai.routes import EXPANDED, FORWARD, RIGHT, Routes, area, routes
from agentgym_envs.babyai.tasks import drafted
from agentgym_envs.babyai.view import View, described, seen

LEFT_OF_THE_DOOR = (3, 4)
"""Cell of a hand-made room of five by five cells, columns and rows 1 to 5."""


def room(*things: tuple[Any, int, int], at: tuple[int, int] = LEFT_OF_THE_DOOR, facing: int = 0) -> Any:
    """A room with the things at columns and rows, and nothing else; the agent faces east at (3, 4)."""
    level = levels.opened("GoToRedBallNoDists")
    levels.generate(level, 0)
    for column in range(1, 7):
        for row in range(1, 7):
            level.grid.set(column, row, None)
    for thing, column, row in things:
        level.put_obj(thing, column, row)
    level.agent_pos, level.agent_dir, level.carrying = at, facing, None
    return level


def view_of(level: Any) -> View:
    return seen(level, level.gen_obs()["image"].tolist())


def choices_of(level: Any, *, original: bool = False) -> Choices:
    view = view_of(level)
    return choices(view, routes(view, wide=original), original=original)


THINGS = ((Ball("red"), 5, 4), (Key("blue"), 4, 2), (Ball("red"), 4, 6), (Box("grey"), 6, 4))


def test_the_sentences_of_a_view_by_distance_then_far_rows_first():
    assert described(view_of(room(*THINGS))) == (
        "In front of you in this room, you can see several objects: "
        "There is a red ball 1 right in front of you 2 steps away.  "
        "There is a grey box 1 right in front of you 3 steps away.  "
        "There is a blue key 1 1 steps in front of you and 2 steps to your left.  "
        "There is a red ball 2 1 steps in front of you and 2 steps to your right.  "
        "The room has walls around you. You are facing a box 3 steps away. You are not carrying anything."
    )


def test_walls_alone_and_what_is_carried():
    level = room()
    level.carrying = Key("green")
    assert described(view_of(level)) == (
        "In front of you in this room, you can see several objects: "
        "The room has walls around you. You are facing a wall 4 steps away. You are carrying a green key."
    )


def test_choices_in_order_with_a_plan_each():
    level = room(*THINGS)
    found = choices_of(level)
    assert list(found.plans) == [
        "turn left",
        "turn right",
        "move forward",
        "pickup red ball 1",
        "pickup grey box 1",
        "pickup blue key 1",
        "pickup red ball 2",
        "go to red ball 1",
        "go to grey box 1",
        "go to blue key 1",
        "go to red ball 2",
        "check available actions",
    ]
    ways = routes(view_of(level), wide=False)
    assert found.plans["go to red ball 1"].actions(ways) == [2]
    assert found.plans["pickup blue key 1"].actions(ways) == [2, 0, 2, 3]
    assert len(found.plans["go to grey box 1"].actions(ways)) == 7  # around the ball, and turned back
    assert found.refusals["drop"] == "You cannot drop the object, as you are not carrying anything."


def test_things_behind_others_keep_their_number_and_agentgym_counts_what_it_reaches():
    # Both red balls are seen; the nearer one is walled in by boxes at its three other sides.
    walled = ((Box("red"), 5, 3), (Box("red"), 5, 5), (Box("red"), 6, 4), (Box("grey"), 4, 4))
    level = room((Ball("red"), 5, 4), (Ball("red"), 4, 2), *walled)
    ours, original = choices_of(level), choices_of(level, original=True)
    names = [thing.name for thing, _ in view_of(level).numbered()]
    assert names.count("red ball") == 2
    assert "You cannot pickup red ball" in " ".join(ours.refusals.values())
    (reached,) = [one for one in ours.plans if one.startswith("pickup red ball")]
    (counted,) = [one for one in original.plans if one.startswith("pickup red ball")]
    assert (reached, counted) == ("pickup red ball 2", "pickup red ball 1")


def test_doors_by_their_state_and_by_the_key_that_is_held():
    level = room(
        (Door("red"), 5, 4), (Door("blue", is_open=True), 4, 2), (Door("grey", is_locked=True), 4, 6)
    )
    found = choices_of(level)
    assert "go through blue open door 1" in found.plans
    assert "toggle and go through red closed door 1" in found.plans
    assert found.refusals["go through red closed door 1"] == (
        "You cannot go through red closed door 1, as it is closed. You should toggle it first."
    )
    locked = "toggle and go through grey locked door 1"
    assert found.refusals[locked] == f"You cannot {locked}, as you are not carrying a key."
    level.carrying = Key("red")
    assert choices_of(level).refusals[locked] == (
        f"You cannot {locked}, as the color of the key you are carrying does not match the color of door."
    )
    level.carrying = Key("grey")
    assert locked in choices_of(level).plans
    assert "toggle" not in found.plans
    level.agent_pos = (4, 4)
    assert "toggle" in choices_of(level).plans


def test_a_box_ahead_can_be_opened_but_not_in_agentgym():
    level = room((Box("grey"), 4, 4))
    assert "toggle" in choices_of(level).plans
    assert "toggle" not in choices_of(level, original=True).plans
    assert choices_of(level).refusals["move forward"] == (
        "There is a barrier in front of you, you can't move forward."
    )


# Routes: AgentGym's search, as its specification describes it, is a queue that marks what it takes.


def searched(ways: Routes, goal: tuple[int, int], *, onto: bool) -> list[int] | None:
    """Actions to a cell by a plain search with the same order of expansion; poses are (cell, direction)."""
    turned = ((1, 0), (0, 1), (-1, 0), (0, -1))
    start = ((0, 0), 0)
    queue, taken, parents = deque([start]), set[Any](), dict[Any, Any]()
    while queue:
        cell, direction = pose = queue.popleft()
        taken.add(pose)
        ahead = (cell[0] + turned[direction][0], cell[1] + turned[direction][1])
        if goal == (cell if onto else ahead):
            actions: list[int] = []
            while pose != start:
                pose, action = parents[pose]
                actions.append(action)
            return actions[::-1]
        for action in EXPANDED:
            turn = (direction + (1 if action == RIGHT else -1)) % 4
            child = (ahead, direction) if action == FORWARD else (cell, turn)
            if child in taken or child[0] not in ways.area:
                continue
            if len(queue) < 30_000:
                queue.append(child)
            parents[child] = (pose, action)
    return None


cells = st.tuples(st.integers(0, 4), st.integers(-2, 2))


@given(blocked=st.sets(cells, min_size=8, max_size=16), goal=cells, onto=st.booleans())
def test_routes_are_those_of_a_plain_search(blocked: set[Any], goal: tuple[int, int], onto: bool):
    whole = {(row, side) for row in range(5) for side in range(-2, 3)}
    ways = Routes(5, (whole - blocked) | {(0, 0)})
    assert (ways.onto(goal) if onto else ways.facing(goal)) == searched(ways, goal, onto=onto)


def test_agentgym_searches_a_row_and_a_column_too_many():
    extra = {direction: set[tuple[int, int]]() for direction in range(4)}
    for direction in range(4):
        view = view_of(room(facing=direction))
        extra[direction] = area(view, wide=True) - area(view, wide=False)
    assert extra[3] == set()
    assert extra[0] == {(-1, side) for side in range(-3, 4)}
    assert extra[2] == {(row, 4) for row in range(7)}
    assert extra[1] == extra[0] | extra[2] | {(-1, 4)}


# Episodes


@pytest.fixture
def world() -> BabyAI:
    return BabyAI()


@pytest.fixture
def original() -> BabyAI:
    return BabyAI(variant="agentgym")


def test_agentgym_numbers_levels_first_and_loses_the_order_of_missions(original: BabyAI):
    tasks = original.tasks("agentgym")
    assert len(tasks) == 4000
    assert [(one.level, one.level_seed) for one in islice(tasks, 3)] == [
        ("GoToRedBallGrey", 0),
        ("GoToRedBall", 0),
        ("GoToRedBallNoDists", 0),
    ]
    assert (tasks[43].level, tasks[43].level_seed) == ("GoToObjS6", 1)
    ordered = next(one for one in tasks if " then " in drafted(one.level, one.level_seed).mission)
    assert " then " not in ordered.mission
    assert " and " in ordered.mission
    assert original.reset(ordered, 0).text.startswith(f"Your goal: {ordered.mission}\n")
    assert BabyAI().task("test/GoToLocalS8N7/2000025").mission == "go to the red key"


def test_messages_of_actions_that_change_nothing(world: BabyAI):
    first = world.reset(world.task("test/GoToLocalS8N7/2000025"), 0)
    listed = first.text.partition("\nAvailable actions: ")[2]
    said = {text: world.step(text) for text in ("", "dance", "drop", " CHECK it ")}
    told = {text: result.observation.text for text, result in said.items()}
    assert told == {
        "": f"No change in state.\nAvailable actions: {listed}",
        "dance": f"The action is not recognized. Please check valid actions.\nAvailable actions: {listed}",
        "drop": f"You cannot drop the object, as you are not carrying anything.\nAvailable actions: {listed}",
        " CHECK it ": "You can take the following actions: "
        + listed.strip("[]").replace('"', "")
        + f"\nAvailable actions: {listed}",
    }
    assert [bool(one.info.get("invalid_action")) for one in said.values()] == [True, True, True, False]


def test_pick_up_is_understood_in_two_words(world: BabyAI, original: BabyAI):
    task = world.task("test/GoToLocalS8N7/2000025")
    for env, understood in ((world, True), (original, False)):
        env.reset(task, 0)
        result = env.step("Pick up green ball 1")
        assert ("You are carrying a green ball." in result.observation.text) is understood


def test_an_ended_episode_pays_nothing_more(world: BabyAI):
    world.reset(world.task("test/GoToLocalS8N7/2000025"), 0)
    won = world.step("go to red key 1")
    assert (won.reward, won.terminated, won.info["success"]) == (1.0, True, 1)
    assert 0 < won.info["raw_reward"] < 1
    assert won.observation.text.partition("\nAvailable")[0].endswith("\n The task is completed.")
    again = world.step("go to purple key 1")
    assert (again.reward, again.terminated) == (0.0, True)


def test_agentgyms_late_success_goes_on_and_is_paid_once(original: BabyAI):
    task = original.tasks("agentgym")[4]
    original.reset(task, 0)
    level: Any = original._level
    level.step_count = level.max_steps - 5
    plan = BabyAI().expert(BabyAI().task("test/GoToLocalS8N7/2000025"))
    assert plan is not None
    goal = task.mission.removeprefix("go to ").removeprefix("the ").removeprefix("a ")
    for _ in range(8):
        result = original.step(f"go to {goal} 1" if goal in original._now.text else "turn left")  # pyright: ignore[reportOptionalMemberAccess]
        if result.info.get("success"):
            break
    assert 0 < result.reward <= 0.5
    assert not result.terminated
    original.step("turn left")
    again = original.step("turn right")
    assert again.info.get("success") == 1
    assert (again.reward, again.terminated) == (0.0, False)


def test_a_wrong_door_ends_a_debug_level_without_a_reward():
    world = BabyAI(levels="OpenRedBlueDoorsDebug", limit=64)
    task = next(one for one in world.tasks("train"))
    world.reset(task, 0)
    first = "blue" if "then open the blue" in task.mission else "red"
    level: Any = world._level
    (door,) = [one for one in level.grid.grid if isinstance(one, Door) and one.color == first]
    x, y = door.cur_pos
    for step, (dx, dy) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        if level.grid.get(x - dx, y - dy) is None and 0 < x - dx < level.width - 1:
            level.agent_pos, level.agent_dir = (x - dx, y - dy), step
            break
    world._now = moment(level, level.gen_obs()["image"], original=False)
    result = world.step("toggle")
    assert (result.reward, result.terminated, result.info["success"]) == (0.0, True, 0)
    assert "\n The task has failed." in result.observation.text


@pytest.mark.parametrize("level", ["GoToObjS6", "KeyInBox", "PutNextS7N4Carrying", "BlockedUnlockPickup"])
def test_the_expert_wins(level: str):
    world = BabyAI(levels=level, limit=64)
    for task in islice(world.tasks("test"), 3):
        plan = world.expert(task)
        assert plan is not None
        world.reset(task, 0)
        results = [world.step(action) for action in plan]
        assert [one.reward for one in results] == [0.0] * (len(plan) - 1) + [1.0]
        assert not any(one.info.get("invalid_action") for one in results)


def test_a_careless_player_strays():
    world = BabyAI(levels="GoToLocalS8N7")
    tasks = list(islice(world.tasks("train"), 12))
    careful = [world.demonstrate(task, 0) for task in tasks]
    careless = [world.demonstrate(task, 0, 0.3) for task in tasks]
    assert sum(map(len, careless)) > sum(map(len, careful))
    assert careless == [world.demonstrate(task, 0, 0.3) for task in tasks]


# Levels and splits


def test_there_are_forty_levels_and_any_other_can_be_named():
    assert len(set(levels.AGENTGYM)) == 40
    assert set(levels.AGENTGYM) <= set(levels.known())
    assert levels.known()["GoToObjS6"] == "BabyAI-GoToObjS6-v1"
    assert len(BabyAI(levels="all").tasks("test")) == 25 * len(levels.known()) > 2000
    assert {one.level for one in BabyAI(levels="PutNextLocal, GoToOpen").tasks("valid")} == {
        "PutNextLocal",
        "GoToOpen",
    }
    with pytest.raises(ValueError, match="no level 'GoToMars'"):
        BabyAI(levels="GoToMars")
    with pytest.raises(ValueError, match="leave out the option levels"):
        BabyAI(variant="agentgym", levels="all")


def test_no_first_observation_of_a_small_level_is_in_two_splits():
    """The smallest room has so few views that seeds alone would not keep splits apart."""
    world = BabyAI(levels="GoToObjS6")
    first = {
        split: {world.reset(task, 0).text for task in islice(world.tasks(split), 300)}
        for split in world.splits
    }
    assert all(len(texts) > 10 for texts in first.values())
    assert not first["train"] & first["test"]
    assert not first["train"] & first["valid"]
    assert not first["valid"] & first["test"]


def test_missions_that_cannot_be_won_are_left_out():
    world = BabyAI(levels="OpenDoorsOrderN4Debug")
    missions = [task.mission for task in islice(world.tasks("train"), 12)]
    assert all(" then " not in one and " after " not in one for one in missions)
    two = next(seed for seed in range(50) if " then " in drafted("OpenDoorsOrderN4Debug", seed).mission)
    assert drafted("OpenDoorsOrderN4Debug", two).split is None
    with pytest.raises(TaskNotFound):
        world.task(f"train/OpenDoorsOrderN4Debug/{two}")


@pytest.mark.parametrize(
    "name", ["train/GoToMars/1", "test/GoToObjS6/1", "agentgym/0", "train/GoToObjS6/x", ""]
)
def test_unknown_tasks(world: BabyAI, name: str):
    with pytest.raises(TaskNotFound):
        world.task(name)


def test_an_unlucky_seed_is_given_up(monkeypatch: pytest.MonkeyPatch):
    level = levels.opened("GoToObjS6")
    drafts = 0

    def reject(_: Any) -> None:
        nonlocal drafts
        drafts += 1
        raise RejectSampling("never")

    monkeypatch.setattr(type(level), "gen_mission", reject)
    with pytest.raises(levels.UnluckySeedError, match="no grid for seed 7"):
        levels.generate(level, 7)
    assert drafts == levels.MOST_REJECTIONS


def test_rejected_drafts_are_not_printed():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        level = levels.opened("UnblockPickup")
        for seed in range(12):
            levels.generate(level, seed)
    assert out.getvalue() == ""


PLAY = """
from itertools import islice
from random import Random
from agentgym_envs.babyai import BabyAI
world = BabyAI()
for task in islice(world.tasks("test"), 0, 40, 3):
    draw = Random(1)
    seen = world.reset(task, 0)
    print(task, world.expert(task), world.demonstrate(task, 0, 0.5))
    for _ in range(5):
        result = world.step(draw.choice(seen.actions))
        seen = result.observation
        print(seen.text, result.reward)
        if result.terminated:
            break
"""


def test_equal_in_processes_with_other_hash_seeds():
    assert len(printed(PLAY)) == 1


def test_a_snapshot_is_not_changed_by_later_steps(world: BabyAI):
    task = world.task("test/GoToLocalS8N7/2000025")
    world.reset(task, 0)
    kept = world.snapshot()
    texts = [world.step(one).observation.text for one in ("turn left", "move forward")]
    world.restore(kept)
    assert [world.step(one).observation.text for one in ("turn left", "move forward")] == texts
    fresh = BabyAI()
    fresh.restore(kept)
    assert fresh.step("go to red key 1").reward == 1


def test_a_missing_package_is_named_with_its_extra():
    program = (
        "import sys; sys.modules['minigrid'] = None\n"
        "from agentgym_envs.registry import EnvironmentUnavailable, make\n"
        "try: make('babyai')\nexcept EnvironmentUnavailable as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'agentevol[babyai]'" in done.stdout


def test_tasks_are_lazy_and_equal_by_id(world: BabyAI):
    tasks = world.tasks("train", "room")
    assert len(tasks) == 1000 * 10
    task: BabyAITask = tasks[5]
    assert world.task(task.id) == task
    assert task.difficulty == "room"
