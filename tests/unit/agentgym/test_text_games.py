"""Text games as clients of AgentGym meet them, in the variants with its rules."""

import shutil
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest
from starlette.testclient import TestClient

from agentgym_envs.registry import make
from agentgym_envs.wordle.lexicon import simple_marks
from agentgym_server.app import create_app


@pytest.fixture
def client() -> Iterator[TestClient]:
    games = {name: partial(make, name, variant="agentgym") for name in ("maze", "textcraft", "wordle")}
    with TestClient(create_app(games), base_url="http://127.0.0.1") as client:
        yield client


def post(client: TestClient, path: str, **body: Any) -> Any:
    return client.post(f"/agentgym/{path}", json=body).json()


def test_a_maze_is_walked_to_the_goal(client: TestClient) -> None:
    number = post(client, "maze/create")["id"]
    begun = post(client, "maze/reset", id=number, game=0)
    assert begun == {
        "observation": "The goal is at position 8, 6. Your current position is at position 1, 1."
        " There are walls to your left, above you, below you."
    }
    moves = [*["right"] * 2, *["down"] * 4, *["right"] * 3, *["down"] * 3]
    replies = [post(client, "maze/step", id=number, action=f"move {move}\n") for move in moves]
    assert [one["reward"] for one in replies] == [0.0] * 11 + [1.0]
    assert replies[-1] == {"observation": "Success", "reward": 1.0, "done": True}


def test_an_item_is_crafted(client: TestClient) -> None:
    begun = post(client, "textcraft/create")
    number = begun["id"]
    assert begun["observation"].startswith("Crafting commands:\n")
    lines = "Crafting commands:\ncraft 6 alder planks using 1 alder log"
    begun = post(client, "textcraft/reset", id=number, data_idx=0)
    assert begun["observation"] == f"{lines}\n\nGoal: craft alder planks."
    assert client.get(f"/agentgym/textcraft/commands?id={number}").json() == lines
    got = post(client, "textcraft/step", id=number, action="get 1 alder log")
    assert got == {"observation": "Got 1 alder log", "reward": 0.0, "done": False}
    made = post(client, "textcraft/step", id=number, action="craft 6 alder planks using 1 alder log")
    assert made == {"observation": "Crafted 6 village:alder_planks", "reward": 1.0, "done": True}


def test_wordle_tells_marks_and_the_words_that_are_left(client: TestClient) -> None:
    number = post(client, "wordle/create")["id"]
    begun = post(client, "wordle/reset", id=number, seed=3)
    assert begun == {"id": number, "observation": "Let's start Wordle!"}
    words = client.get(f"/agentgym/wordle/filtered_vocab?id={number}").json()
    assert len(words) == 40
    reply = post(client, "wordle/step", id=number, action=" ".join(words[0]))
    told = reply["observation"]
    assert told.endswith("\n")
    assert set(told) <= set("gyb \n")
    left = client.get(f"/agentgym/wordle/filtered_vocab?id={number}").json()
    seen = told.replace(" ", "").strip()
    assert left == [word for word in words if simple_marks(words[0], word) == seen]
    assert post(client, "wordle/step", id=number, action="zzz") == {
        "observation": "invalid word",
        "reward": 0.0,
        "done": False,
    }


@pytest.mark.skipif(find_spec("minigrid") is None, reason="the extra babyai is not installed")
def test_babyai_is_paid_once() -> None:
    app = create_app({"babyai": partial(make, "babyai", variant="agentgym")})
    with TestClient(app, base_url="http://127.0.0.1") as client:
        number = post(client, "babyai/create")["id"]
        begun = post(client, "babyai/reset", id=number, data_idx=3)
        goal = begun["observation"].splitlines()[0].removeprefix("Your goal: go to the ")
        assert (
            begun["observation"].splitlines()[-1].startswith('Available actions: ["turn left", "turn right"')
        )
        assert {name: value for name, value in begun.items() if name != "observation"} == {
            "reward": 0.0,
            "score": 0.0,
            "deleted": False,
            "done": False,
        }
        reply = begun
        for _ in range(8):
            listed = f"go to {goal} 1" in reply["observation"]
            action = f"go to {goal} 1" if listed else "turn left"
            reply = post(client, "babyai/step", id=number, action=action)
            if reply["done"]:
                break
        assert 0.5 < reply["reward"] < 1
        assert (reply["score"], reply["done"]) == (reply["reward"], True)
        assert "The task is completed." in reply["observation"]
        again = post(client, "babyai/step", id=number, action="turn left")
        assert again == {"error": f"The task with environment {number} has finished."}


@pytest.mark.skipif(
    shutil.which("java") is None or find_spec("scienceworld") is None,
    reason="there is no Java, or the extra sciworld is not installed",
)
def test_scienceworld_counts_in_hundredths_and_tells_its_goals() -> None:
    app = create_app({"sciworld": partial(make, "sciworld", variant="agentgym")})
    with TestClient(app, base_url="http://127.0.0.1") as client:
        number = post(client, "sciworld/create")["id"]
        begun = post(client, "sciworld/reset", id=number, data_idx=100)
        assert begun["task_name"] == "change-the-state-of-matter-of"
        assert begun["var_num"] == 10
        assert begun["task_description"].startswith(
            "Your task is to change the state of matter of chocolate."
        )
        assert begun["observation"].startswith("This room is called the ")
        found = client.get(f"/agentgym/sciworld/task_description?id={number}").json()
        assert found == {"task_description": begun["task_description"]}
        reply = post(client, "sciworld/step", id=number, action="look around")
        assert set(reply) == {"observation", "reward", "score", "done"}
        goals = client.get(f"/agentgym/sciworld/goals?id={number}").json()["goals"]
        assert goals.startswith("Completed keys:")
        hints = client.get(f"/agentgym/sciworld/action_hint?id={number}").json()
        assert "focus on OBJ" in hints["possible_actions"]
        assert "air" in hints["possible_objects"]
        lost = post(client, "sciworld/step", id=number, action="focus on air")
        assert (lost["score"], lost["done"]) == (0.0, True)
