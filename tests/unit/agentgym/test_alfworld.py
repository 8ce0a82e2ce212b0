"""ALFWorld in AgentGym's messages: what its client sends, and what it must find in the reply."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from support.server.agentgym import Client, serving
from support.server.environments import Echo

from agentgym_envs.alfworld import ALFWorld
from agentgym_envs.core import Observation, StepResult, Task
from agentgym_server.dialects.agentgym.reply_fields import EpisodeState, trial


@pytest.fixture
async def household(tmp_path: Path) -> AsyncGenerator[Client]:
    """The real ALFWorld, without imported games."""
    async with serving({"alfworld": lambda: ALFWorld(home=tmp_path)}) as client:
        yield client


GAME = 213
ROOM = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, a diningtable 1, a "
    "fridge 1, a sinkbasin 1, and a stoveburner 1.\nYour task is to: put a cool cup in diningtable."
)
FROM_THE_MIDDLE = [
    "go to cabinet 1",
    "go to diningtable 1",
    "go to fridge 1",
    "go to sinkbasin 1",
    "go to stoveburner 1",
    "help",
    "inventory",
    "look",
]
AT_THE_FRIDGE = [
    "examine cabinet 1",
    "examine fridge 1",
    "go to diningtable 1",
    "go to sinkbasin 1",
    "go to stoveburner 1",
    "help",
    "inventory",
    "look",
    "open cabinet 1",
    "open fridge 1",
]
WINNING = [
    "go to fridge 1",
    "open fridge 1",
    "take cup 3 from fridge 1",
    "cool cup 3 with fridge 1",
    "go to diningtable 1",
    "move cup 3 to diningtable 1",
]


async def test_alfworld_every_message(household: Client):
    assert await household.get("alfworld/") == (200, "This is environment AlfWorld.")
    assert await household.post("alfworld/create") == (200, {"id": 0})
    assert await household.post("alfworld/reset", {"id": 0, "game": GAME, "world_type": "Text"}) == (
        200,
        {
            "id": 0,
            "observation": ROOM,
            "available_actions": FROM_THE_MIDDLE,
            "task_type": "pick_cool_then_place_in_recep/train/small/71",
        },
    )
    assert await household.get("alfworld/observation?id=0") == (200, ROOM)
    at_the_fridge = {
        "observation": "You arrive at fridge 1. The fridge 1 is closed.",
        "reward": 0.0,
        "available_actions": AT_THE_FRIDGE,
        "done": False,
    }
    assert await household.post("alfworld/step", {"id": 0, "action": "go to fridge 1"}) == (
        200,
        at_the_fridge,
    )
    assert await household.get("alfworld/available_actions?id=0") == (200, AT_THE_FRIDGE)
    assert await household.get("alfworld/observation?id=0") == (200, at_the_fridge["observation"])
    assert await household.get("alfworld/detail?id=0") == (
        200,
        {"game": GAME, "world_type": "Text", **at_the_fridge, "deleted": False},
    )
    assert await household.post("alfworld/close", {"id": 0}) == (200, True)
    assert await household.post("alfworld/close", {"id": 0}) == (200, False)


async def test_alfworld_won_and_begun_again(household: Client):
    await household.post("alfworld/create")
    begin = {"id": 0, "game": GAME, "world_type": "Text"}
    await household.post("alfworld/reset", begin)
    replies = [await household.post("alfworld/step", {"id": 0, "action": action}) for action in WINNING]
    assert [(reply["reward"], reply["done"]) for _, reply in replies] == [(0.0, False)] * 5 + [(1.0, True)]
    assert await household.post("alfworld/step", {"id": 0, "action": "look"}) == (
        200,
        {"error": "The task with environment 0 has finished."},
    )
    assert (await household.post("alfworld/reset", begin))[1]["observation"] == ROOM
    assert (await household.post("alfworld/step", {"id": 0, "action": "look"}))[1]["done"] is False


async def test_alfworld_refuses_other_world_types_and_games_that_are_none(household: Client):
    await household.post("alfworld/create")
    for world_type in ("Embody", "Hybrid"):
        ok = await household.post("alfworld/reset", {"id": 0, "game": 1, "world_type": world_type})
        assert ok[1]["id"] == 0
    kinds = "world_type must be one of: Text, Embody, Hybrid"
    assert await household.post("alfworld/reset", {"id": 0, "game": 0, "world_type": "text"}) == (
        200,
        {"error": kinds},
    )
    for game in (-1, 601_200, 10**30):
        assert await household.post("alfworld/reset", {"id": 0, "game": game, "world_type": "Text"}) == (
            200,
            {"error": "game must be from 0 to 601199"},
        )
    still_there = await household.post("alfworld/step", {"id": 0, "action": "look"})
    assert still_there[1]["done"] is False  # a refused reset leaves the episode alone


async def test_alfworld_indexes_run_through_train_and_then_the_rest(household: Client):
    await household.post("alfworld/create")
    types: list[str] = []
    for game in (0, 599_999, 600_000, 600_299, 600_300):
        _, reply = await household.post("alfworld/reset", {"id": 0, "game": game, "world_type": "Text"})
        types.append(reply["task_type"].partition("/")[2])
    assert types == [
        "train/small/0",
        "train/large/199999",
        "valid/small/0",
        "valid/large/99",
        "test/small/0",
    ]


class Old(Echo):
    """ALFWorld as it spoke before version 0.4."""

    def reset(self, task: Task, seed: int) -> Observation:
        super().reset(task, seed)
        return Observation(text="-= Welcome =-\n\nA room.\n\nYour task is to: stay.", actions=("look",))

    def step(self, action: str) -> StepResult:
        return StepResult(observation=Observation(text="You arrive at loc 7. On the desk 1, a mug 1. Done."))


async def test_the_banner_and_the_number_of_a_location_are_cut():
    async with serving({"alfworld": Old}) as client:
        await client.post("alfworld/create")
        assert await client.get("alfworld/observation?id=0") == (200, "A room.\nYour task is to: stay.")
        _, stepped = await client.post("alfworld/step", {"id": 0, "action": "go"})
        assert stepped["observation"] == "On the desk 1, a mug 1. Done."
        assert stepped["available_actions"] == []


class Imported(Echo):
    """Has ALFWorld's official games beside others."""

    episodes = 2

    @property
    def splits(self) -> tuple[str, ...]:
        return ("train", "valid", "official_train", "valid_seen", "valid_unseen", "valid_train")


async def test_imported_games_come_instead_of_generated_ones():
    async with serving({"alfworld": Imported}) as client:
        await client.post("alfworld/create")
        types: list[str] = []
        for game in range(8):
            _, reply = await client.post("alfworld/reset", {"id": 0, "game": game, "world_type": "Text"})
            types.append(reply["task_type"])
        splits = ("official_train", "valid_train", "valid_seen", "valid_unseen")
        assert types == [f"chat/{split}/{n}" for split in splits for n in range(2)]
        assert await client.post("alfworld/reset", {"id": 0, "game": 8, "world_type": "Text"}) == (
            200,
            {"error": "game must be from 0 to 7"},
        )


def test_a_game_with_an_official_id_is_its_own_type():
    task = {"task_id": "look_at_obj-Mug-None-Lamp-301/trial_T1", "kind": "look_at_obj"}
    assert trial(EpisodeState(0, task, {}, "", {})) == "look_at_obj-Mug-None-Lamp-301/trial_T1"
