"""Gymnasium's `make` and `make_vec` against a real server: the expert wins, a killed server is no outcome."""

import subprocess
import sys
import warnings
from collections.abc import Iterator
from itertools import zip_longest

import gymnasium
import httpx
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from support.readiness import ready_address

import agentgym_client.gymnasium  # noqa: F401 - registers the ids
from agentgym_client.gymnasium import EnvInfrastructureError
from agentgym_client.retries import RetryRules
from agentgym_envs.registry import make

COMMAND = [sys.executable, "-m", "agentevol", "envs", "up", "alfworld", "guess", "--port", "0"]
ALFWORLD = "agentgym/ALFWorld-v0"


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address."""
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True) as process:
        yield process, ready_address(process)
        process.kill()


def plan(task_id: str) -> list[str]:
    """Commands that win the task."""
    world = make("alfworld")
    commands = world.expert(world.task(task_id))
    assert commands
    return commands


def active(url: str) -> int:
    return httpx.get(f"{url}/health").json()["sessions"]["active"]


def test_the_checker_is_content_and_no_session_is_left(server: tuple[subprocess.Popen[str], str]):
    url = server[1]
    for name in ("agentgym/ALFWorld-v0", "agentgym/Guess-v0"):
        env = gymnasium.make(name, base_url=url)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped, skip_render_check=True)
        env.close()
    assert active(url) == 0


def test_the_expert_wins_and_a_killed_server_is_neither_a_reward_nor_an_end(
    server: tuple[subprocess.Popen[str], str], monkeypatch: pytest.MonkeyPatch
):
    process, url = server
    env = gymnasium.make(ALFWORLD, base_url=url, split="test")
    here = gymnasium.make(ALFWORLD, split="test")
    opening, info = env.reset(seed=4)
    assert here.reset(seed=4)[0] == opening
    for command in plan(info["task_id"]):
        assert here.step(command) == (result := env.step(command))
    assert result[1:4] == (1.0, True, False)
    env.reset(seed=5)
    env.step("look")
    process.kill()
    monkeypatch.setattr(RetryRules, "pause_s", lambda self, attempt: 0.0)
    with pytest.raises(EnvInfrastructureError) as lost:
        env.step("look")
    assert (lost.value.kind, lost.value.retryable) == ("transport", True)
    env.close()  # there is nobody left to tell
    here.close()


def test_many_episodes_of_one_vector_environment(server: tuple[subprocess.Popen[str], str]):
    url = server[1]
    envs = gymnasium.make_vec(ALFWORLD, num_envs=16, base_url=url, autoreset_mode="NextStep")
    _, infos = envs.reset(seed=0)
    plans = [plan(task_id) for task_id in infos["task_id"]]
    won = np.zeros(16)
    for actions in zip_longest(*plans, fillvalue="look"):
        won += envs.step(actions)[1]
    assert won.tolist() == [1.0] * 16
    envs.close()
    assert httpx.get(f"{url}/health").json()["finished"]["terminated"] == 16
    assert active(url) == 0
