"""The player who sees only texts, careful and careless."""

from collections.abc import Generator
from itertools import islice
from random import Random

import pytest

from agentgym_envs.alfworld import ALFWorld
from agentgym_envs.alfworld.generator import SIMPLE
from agentgym_envs.alfworld.search import search
from agentgym_envs.episodes import Player, follow


@pytest.fixture(scope="module")
def world():
    return ALFWorld()


def won(world: ALFWorld, difficulty: str, count: int, care: float) -> dict[bool, list[bool]]:
    """Whether the task is a plain placing -> whether each of the episodes was won."""
    player, results = Player(), {True: list[bool](), False: list[bool]()}
    for task in islice(world.tasks("train", difficulty), count):
        actions = world.demonstrate(task, seed=7, care=care)
        episode = player.play(world, task, follow(actions), seed=0)
        results[task.kind == SIMPLE].append(episode.total_reward == 1.0)
    player.close()
    return results


def test_with_care_it_wins_nearly_every_room(world: ALFWorld):
    results = won(world, "medium", 100, care=1.0)
    assert sum(results[True]) + sum(results[False]) >= 97


def test_without_care_it_wins_only_where_there_is_nothing_to_forget(world: ALFWorld):
    results = won(world, "small", 100, care=0.0)
    assert sum(results[True]) >= 0.9 * len(results[True]) > 0
    assert not any(results[False])


def test_equal_seeds_play_equally_and_others_differently(world: ALFWorld):
    tasks = list(islice(world.tasks("train", "large"), 20))
    one, again, other = ([world.demonstrate(task, seed, 0.3) for task in tasks] for seed in (1, 1, 2))
    assert one == again != other
    assert max(len(actions) for actions in one) <= world.max_turns


def script(agent: Generator[str, str, None], answers: dict[str, str]) -> list[str]:
    """What an agent does until it looks around or gives up, in a room that answers so."""
    commands = [next(agent)]
    try:
        while commands[-1] != "look":
            commands.append(agent.send(answers.get(commands[-1], "Done.")))
    except StopIteration:
        return commands
    return commands[:-1]


def room(task: str) -> str:
    places = "a cabinet 1, a fridge 1, and a garbagecan 1"
    return f"Looking quickly around you, you see {places}.\n\nYour task is to: {task}."


ROOM = {
    "go to cabinet 1": "You arrive at cabinet 1. On the cabinet 1, you see nothing.",
    "go to garbagecan 1": "You arrive at garbagecan 1. On the garbagecan 1, you see a apple 1.",
    "go to fridge 1": "You arrive at fridge 1. On the fridge 1, you see nothing.",
}


def test_what_is_to_be_cooled_is_taken_out_of_the_target_and_brought_back():
    agent = search(room("cool some apple and put it in garbagecan"), Random(0))
    assert script(agent, ROOM)[-6:] == [
        "go to garbagecan 1",
        "take apple 1 from garbagecan 1",
        "go to fridge 1",
        "cool apple 1 with fridge 1",
        "go to garbagecan 1",
        "move apple 1 to garbagecan 1",
    ]


def test_what_is_only_to_be_placed_is_left_where_it_belongs():
    agent = search(room("put some apple on garbagecan"), Random(0))
    assert sorted(script(agent, ROOM)) == ["go to cabinet 1", "go to fridge 1"]
