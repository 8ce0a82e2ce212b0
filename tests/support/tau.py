"""Plays tau environments, answers for models behind endpoints, and writes folders as the benchmarks do."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

import agentgym_envs.endpoints.retries
from agentgym_envs.core import StepResult
from agentgym_envs.tau.environment import TauEnvironment
from agentgym_envs.tau.tasks import TauTask
from agentgym_envs.tau.telecom.builtin.company import company
from agentgym_envs.tau.users import UserModel

USER_MODEL = UserModel(base_url="http://user/v1", model="tiny", retries=1)
"""Settings of a simulated user, whose requests a test answers."""


def call(name: str, /, **arguments: object) -> str:
    """A call as an action."""
    return json.dumps({"name": name, "arguments": arguments})


def played(
    environment: TauEnvironment[Any], task: TauTask, actions: Sequence[str], seed: int = 0
) -> StepResult:
    """The result of the last action of an episode; `reward` is the whole return."""
    environment.reset(task, seed)
    results = [cast("StepResult", environment.step(action)) for action in actions]
    return results[-1].model_copy(update={"reward": sum(result.reward for result in results)})


def texts(environment: TauEnvironment[Any], task: TauTask, actions: Sequence[str]) -> list[str]:
    """The observations after each action of an episode."""
    environment.reset(task, 0)
    return [cast("StepResult", environment.step(action)).observation.text for action in actions]


def write_json(path: Path, value: object) -> None:
    """Write a JSON file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def tau2_form(task: TauTask) -> dict[str, Any]:
    """A task in the form of tau2-bench's files."""
    return {
        "id": task.id,
        "user_scenario": {
            "persona": task.scenario.persona or None,
            "instructions": {
                "domain": "telecom",
                "reason_for_call": task.scenario.reason,
                "known_info": task.scenario.known,
                "unknown_info": None,
                "task_instructions": task.scenario.instructions,
            },
        },
        "ticket": task.instruction,
        "initial_state": {
            "initialization_data": None,
            "initialization_actions": [
                {"env_type": one.side, "func_name": one.function, "arguments": one.arguments}
                for one in task.setup
            ],
        },
        "evaluation_criteria": {
            "actions": [
                {"name": one.name, "arguments": one.arguments, "compare_args": one.compared}
                for one in task.gold
            ],
            "env_assertions": [
                {
                    "env_type": one.side,
                    "func_name": one.function,
                    "arguments": one.arguments,
                    "assert_value": one.value,
                }
                for one in task.assertions
            ],
            "communicate_info": list(task.communicate),
            "nl_assertions": None,
            "reward_basis": list(task.basis),
        },
    }


def write_telecom(
    folder: Path, tasks: Sequence[Mapping[str, Any]], splits: Mapping[str, Sequence[str]]
) -> None:
    """A folder of telecom as tau2-bench lays it out, with the invented company as its data."""
    tables = {name: list(rows.values()) for name, rows in company().tables.items()}
    write_json(folder / "db.json", tables)
    write_json(folder / "user_db.json", {"device": {"battery_level": 55}})
    write_json(folder / "tasks.json", list(tasks))
    write_json(folder / "split_tasks.json", dict(splits))
    for name in ("main_policy", "main_policy_solo", "tech_support_manual", "tech_support_workflow"):
        (folder / f"{name}.md").write_text(f"Text of {name}.", encoding="utf-8")


def endpoint(*messages: dict[str, Any]) -> tuple[httpx.MockTransport, list[dict[str, Any]]]:
    """A transport that answers with these messages in turn, the last one for ever; the requests."""
    seen = list[dict[str, Any]]()

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(json.loads(request.content))
        message = messages[min(len(seen), len(messages)) - 1]
        if "status" in message:
            return httpx.Response(message["status"], text="overloaded")
        body = {"choices": [{"message": message}], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}
        return httpx.Response(200, json=body)

    return httpx.MockTransport(answer), seen


def wired(environment: Any, transport: httpx.MockTransport, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The environment; requests of its user and its judge go to a transport, without pauses."""
    monkeypatch.setattr(agentgym_envs.endpoints.retries, "FIRST_PAUSE_S", 0.0)
    plain: Callable[..., httpx.AsyncClient] = httpx.AsyncClient
    monkeypatch.setattr(httpx, "AsyncClient", lambda **options: plain(**{**options, "transport": transport}))
    return environment


async def settled(value: Any) -> Any:
    """The value of a reset or a step, which may be waited for."""
    return await value if isinstance(value, Awaitable) else value
