"""The player who sees only texts, careful and careless."""

from itertools import islice

import pytest

from agentgym_envs.alfworld import ALFWorld
from agentgym_envs.alfworld.generator import SIMPLE
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
