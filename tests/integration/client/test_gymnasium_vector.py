"""Vector environments: as Gymnasium's `SyncVectorEnv` over the same single ones, but all at the same time."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from support.server.environments import CheapMischief, Echo

import agentgym_client.gymnasium  # noqa: F401 - registers the ids
from agentgym_client.gymnasium import EnvInfrastructureError
from agentgym_client.gymnasium.environment import AgentGymEnv
from agentgym_client.gymnasium.vector import AgentGymVectorEnv
from agentgym_envs import registry
from agentgym_envs.core import Observation, StepResult
from agentgym_envs.guess import Guess
from agentgym_server import create_app
from agentgym_server.app import service_of


class Meeting(Echo):
    """A step is over when three of them have begun."""

    name = "meeting"
    waiting: list[asyncio.Future[None]] = []  # noqa: RUF012 - shared by all instances on purpose

    async def step(self, action: str) -> StepResult:  # type: ignore[override] - a coroutine is fine
        self.waiting.append(asyncio.get_running_loop().create_future())
        mine = self.waiting[-1]
        if len(self.waiting) == 3:
            for one in self.waiting:
                one.set_result(None)
            self.waiting.clear()
        await mine
        return StepResult(observation=Observation(text="met"))


WORLDS = {kind.name: kind for kind in (Echo, CheapMischief, Guess, Meeting)}
Where = Callable[[], dict[str, Any]]


@pytest.fixture(autouse=True)
def worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-ins are registered environments."""
    found = registry.environment_class
    monkeypatch.setattr(
        "agentgym_client.gymnasium.local.environment_class", lambda name: WORLDS.get(name) or found(name)
    )


@pytest.fixture(params=["local", "served"])
def where(request: pytest.FixtureRequest) -> Iterator[Where]:
    """Settings by which environments are played in process, or on a server of their own."""
    apps: list[FastAPI] = []

    def settings() -> dict[str, Any]:
        if request.param == "local":
            return {}
        apps.append(create_app(WORLDS))
        return {"base_url": "http://localhost", "transport": httpx.ASGITransport(apps[-1])}

    yield settings
    assert [service_of(app).registry.active for app in apps] == [0] * len(apps)


SCRIPT = [["a", "stop", "c"], ["stop", "b", "c"], ["a", "b", "stop"], ["a", "b", "c"], ["stop"] * 3]


def without_ids(value: Any) -> Any:
    """Infos as plain values; sessions have ids of their own."""
    if isinstance(value, dict):
        return {key: without_ids(item) for key, item in value.items() if "session_id" not in key}
    return value.tolist() if isinstance(value, np.ndarray) else value


def shown(result: tuple[Any, ...]) -> list[Any]:
    """A result of `reset` or `step` with all its types."""
    types = [(item.dtype, item.shape) if isinstance(item, np.ndarray) else type(item) for item in result]
    return [types, [without_ids(item) for item in result]]


def masked_reset(envs: VectorEnv[Any, Any, Any], over: np.ndarray) -> list[Any]:
    """What a user does who resets by hand."""
    return shown(envs.reset(options={"reset_mask": over, "split": "test"})) if over.any() else []


def played(envs: VectorEnv[Any, Any, Any], mode: AutoresetMode) -> list[Any]:
    """Everything that a run of the script shows."""
    seen = [shown(envs.reset(seed=5)), shown(envs.reset()), shown(envs.reset(seed=[9, None, 3]))]
    for actions in SCRIPT:
        result = envs.step(tuple(actions))
        seen.append(shown(result))
        if mode is AutoresetMode.DISABLED:
            seen.append(masked_reset(envs, result[2] | result[3]))
    envs.close()
    return seen


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("world", ["echo", "guess"])
def test_it_shows_what_the_sync_vector_environment_shows(where: Where, mode: AutoresetMode, world: str):
    single = SyncVectorEnv([lambda: AgentGymEnv(world, max_turns=3, **where())] * 3, autoreset_mode=mode)
    vector = AgentGymVectorEnv(world, 3, autoreset_mode=mode, max_turns=3, **where())
    assert single.metadata == vector.metadata
    assert single.action_space.shape == vector.action_space.shape
    assert single.observation_space.spaces == vector.observation_space.spaces
    assert played(vector, mode) == played(single, mode)


def test_the_comparison_would_notice_a_difference():
    envs = [AgentGymVectorEnv("echo", 3, max_turns=limit) for limit in (3, 2)]
    one, other = (played(env, AutoresetMode.NEXT_STEP) for env in envs)
    assert one != other


def test_literal_values_of_an_automatic_reset(where: Where):
    envs = AgentGymVectorEnv("guess", 2, **where())
    observations, infos = envs.reset(seed=1, options={"task_id": "guess-5"})
    assert observations == ("Make a guess.", "Make a guess.")
    assert infos["task_id"].tolist() == ["guess-5", "guess-5"]
    observations, rewards, terminated, truncated, infos = envs.step(("5", "4"))
    assert observations == ("Right.", "Go higher than 4.")
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == (
        [1, 0],
        [True, False],
        [False, False],
    )
    observations, rewards, terminated, _, infos = envs.step(("ignored", "5"))
    assert observations == ("Make a guess.", "Right.")
    assert (rewards.tolist(), terminated.tolist()) == ([0, 1], [False, True])
    assert infos["turn"].tolist() == [0, 2]
    assert infos["_session_id"].tolist() == [True, False]
    envs.close()
    envs.close()


def test_gymnasium_makes_it(where: Where):
    for mode in ("Disabled", AutoresetMode.NEXT_STEP):
        envs = gymnasium.make_vec(
            "agentgym/Guess-v0", num_envs=2, autoreset_mode=mode, max_turns=1, **where()
        )
        assert isinstance(envs.unwrapped, AgentGymVectorEnv)
        assert envs.metadata["autoreset_mode"] is AutoresetMode(mode)
        envs.reset(seed=0)
        assert envs.step(["?", "?"])[3].tolist() == [True, True]
        assert envs.action_space.contains(("4", "5"))
        envs.close()


def test_steps_are_played_at_the_same_time(where: Where):
    envs = AgentGymVectorEnv("meeting", 3, **where())
    envs.reset(seed=0)
    for _ in range(2):
        assert envs.step(["hello"] * 3)[0] == ("met",) * 3  # one after another, the first would wait for ever
    envs.close()


def test_what_breaks_in_one_ends_the_round_for_all(where: Where):
    envs = AgentGymVectorEnv("cheap-mischief", 3, **where())
    envs.reset(seed=0)
    with pytest.raises(EnvInfrastructureError, match="internal") as broken:
        envs.step(["a", "raise", "c"])
    assert broken.value.__notes__ == ["in environment 1 of 3"]
    with pytest.raises(ResetNeeded, match="not in step"):
        envs.step(["a", "b", "c"])
    with pytest.raises(ResetNeeded, match="reset all of them"):
        envs.reset(options={"reset_mask": np.array([False, True, False])})
    envs.reset(seed=0)
    assert envs.step(["a", "b", "c"])[0] == ("1: a", "1: b", "1: c")
    envs.close()


def test_wrong_calls_are_told_and_play_nothing(where: Where):
    envs = AgentGymVectorEnv("echo", 2, autoreset_mode=AutoresetMode.DISABLED, **where())
    with pytest.raises(ResetNeeded):
        envs.step(["a", "b"])
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ValueError, match="3 seeds for 2"):
        envs.reset(seed=[1, 2, 3])
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="1 actions for 2"):
        envs.step(["a"])
    with pytest.raises(TypeError, match="an action is text"):
        envs.step(["a", 5])  # type: ignore[list-item] - that is the test
    for mask in (np.array([True]), np.array([1, 0]), np.array([False, False]), "x", [0, 1]):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    assert envs.step(["a", "stop"])[0] == ("1: a", "1: stop")
    with pytest.raises(ResetNeeded, match=r"over in \[1\]"):
        envs.step(["a", "b"])
    envs.close()


def test_an_option_that_no_environment_has_is_refused():
    envs = AgentGymVectorEnv("echo", 2)
    with pytest.raises(ValueError, match="no reset option 'nope'"):
        envs.reset(options={"nope": 1})
    envs.close()


@pytest.mark.parametrize("mode", ["nope", 5])
def test_an_unknown_autoreset_mode_is_refused(mode: Any):
    with pytest.raises(ValueError, match="is not a valid AutoresetMode"):
        AgentGymVectorEnv("echo", 2, autoreset_mode=mode)
