"""`agentevol eval` of a model behind an endpoint, in environments whose benchmarks are about tools."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from support.server.threaded import served

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.runs.evaluation import trial
from agentgym_envs.registry import make

EPISODES = 10
NAMES = ("tau-telecom", "tau-retail", "tau-airline", "bfcl", "assistant")


class Stub:
    """Endpoint that takes the actions it was given for an instruction, as tool calls or as text.

    Asked about another task, it only says yes.
    """

    def __init__(self) -> None:
        self.actions = dict[str, list[str]]()
        """By the instruction of a task."""
        self.native = True
        self.app = FastAPI()
        self.app.post("/v1/chat/completions")(self.answer)

    async def answer(self, request: Request) -> dict[str, Any]:
        body = await request.json()
        first = body["messages"][0]["content"]
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        actions = next((known for told, known in self.actions.items() if told in first), ["yes"])
        return {
            "choices": [{"message": self.message(actions[min(turn, len(actions) - 1)], turn)}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }

    def message(self, action: str, turn: int) -> dict[str, Any]:
        if not self.native or not action.startswith("{"):
            return {"role": "assistant", "content": action}
        call = json.loads(action)
        function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
        called = {"id": f"call_{turn}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [called]}


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    found = Stub()
    with served(found.app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        yield found


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a server of all the environments."""
    log = tmp_path_factory.mktemp("server") / "log"
    first, *others = (EnvironmentConfig(name=name) for name in NAMES)
    with EnvironmentServer(first, log, others) as server:
        yield server.url


@pytest.mark.parametrize("native", [True, False], ids=["tool calls", "text"])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_that_knows_some_tasks_solves_those(stub: Stub, url: str, name: str, native: bool):
    environment = make(name)
    tasks = environment.tasks("test")[:200]
    told = Counter(task.instruction for task in tasks)  # some tasks differ in what the agent finds out alone
    known = [task for task in tasks if told[task.instruction] == 1][::2]
    stub.native = native
    stub.actions = {task.instruction: environment.expert(task) or [] for task in known}
    played = trial(
        "openai:stub",
        EnvironmentConfig(name=name, url=url),
        "test",
        difficulty=None,
        episodes=EPISODES,
        temperature=0.0,
        seed=0,
        started=lambda _total: lambda _batch: None,
    )
    assert not played.failures
    assert len(played.episodes) == EPISODES
    assert played.usage is not None
    assert played.usage.unreported == 0
    solved = [one.succeeded() for one in played.episodes]
    assert solved == [one.instruction in stub.actions for one in played.episodes]
    assert len(set(solved)) == 2
