"""Maze, TextCraft and Wordle as clients of AgentGym meet them, in the variants with its rules."""

from collections.abc import Iterator
from functools import partial
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
