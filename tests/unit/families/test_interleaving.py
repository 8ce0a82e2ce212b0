"""Episodes do not see each other: alone, stepped in turns, and in several threads."""

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.tasks import FamilyTask
from agentgym_envs.registry import make

EPISODES, THREADS = 40, 4

Work = Sequence[tuple[FamilyTask, Sequence[str]]]


def work(environment: FamilyEnvironment[Any]) -> Work:
    """Tasks, each with its own calls and calls of other tasks, in random order."""
    draw = random.Random(7)
    tasks = [environment.tasks("train")[draw.randrange(400)] for _ in range(EPISODES)]
    pool = [action for task in tasks for action in task.plan if '"finish"' not in action]
    return [(task, [*draw.choices(pool, k=6), *task.plan]) for task in tasks]


def transcript(environment: FamilyEnvironment[Any], task: FamilyTask, actions: Sequence[str]) -> list[str]:
    """What an episode shows."""
    environment.reset(task, 0)
    results = [environment.step(action) for action in actions]
    return [f"{result.observation.text} {result.reward} {result.info}" for result in results]


def in_turns(name: str, episodes: Work) -> list[list[str]]:
    """The transcripts of episodes that are stepped in turns."""
    environments = [make(name) for _ in episodes]
    for environment, (task, _) in zip(environments, episodes, strict=True):
        environment.reset(task, 0)
    found: list[list[str]] = [[] for _ in episodes]
    for turn in range(max(len(actions) for _, actions in episodes)):
        for one, environment, (_, actions) in zip(found, environments, episodes, strict=True):
            if turn < len(actions):
                result: Any = environment.step(actions[turn])
                one.append(f"{result.observation.text} {result.reward} {result.info}")
    return found


@pytest.mark.parametrize("name", ["weather", "movie", "academia", "todo", "sheet"])
def test_transcripts_are_the_same_alone_in_turns_and_in_threads(name: str):
    environment = make(name)
    assert isinstance(environment, FamilyEnvironment)
    episodes = work(environment)
    alone = [transcript(environment, task, actions) for task, actions in episodes]
    assert in_turns(name, episodes) == alone
    with ThreadPoolExecutor(THREADS) as threads:
        found = threads.map(lambda one: transcript(make(name), *one), episodes)  # type: ignore[arg-type] - of a registry
        assert list(found) == alone
    assert len({tuple(one) for one in alone}) > EPISODES / 2
