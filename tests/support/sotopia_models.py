"""Models behind endpoints for tests of the environment `sotopia`: what they answer, and how they fail."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

import agentgym_envs.endpoints.retries
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

URL = "http://models.invalid/v1"
PARTNER = {"partner_model": "talker", "partner_url": URL}
JUDGE = {"judge_model": "judge", "judge_url": URL}
SCORES = {
    "believability": 9,
    "relationship": 2,
    "knowledge": 5,
    "secret": 0,
    "social_rules": -2,
    "financial_and_material_benefits": 1,
    "goal": 8,
}
"""The judge's scores of seat 0; seat 1 has a goal of 3."""


def say(text: str) -> str:
    """A message that says something, as JSON."""
    return json.dumps({"action_type": "speak", "argument": text})


def act(kind: str, text: str = "") -> str:
    """A message of another action, as JSON."""
    return json.dumps({"action_type": kind, "argument": text})


def judgement(*, goals: tuple[object, object] = (8, 3), names: tuple[str, ...] = ()) -> str:
    """A judge's reply; `names` are the dimensions, all seven by default."""
    known = names or tuple(one.name for one in SOTOPIA)
    entries = {
        f"agent_{seat + 1}": {name: [f"why {name}", (SCORES | {"goal": goal})[name]] for name in known}
        for seat, goal in enumerate(goals)
    }
    return json.dumps({"evaluations": entries})


Answer = str | int | Exception | Callable[[], Awaitable[str]]
"""Text of a reply, status of a failure, what a request raises, or a coroutine of the text."""


class Models:
    """Endpoint of several models: each answers in order, the last answer again and again."""

    def __init__(self, **answers: list[Answer]) -> None:
        self._answers = {name: list(found) for name, found in answers.items()}
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[httpx.Headers] = []

    def asked(self, model: str) -> list[dict[str, Any]]:
        """Bodies of the requests to one model."""
        return [body for body in self.bodies if body["model"] == model]

    def wired(self, monkeypatch: pytest.MonkeyPatch) -> "Models":
        """Answer the requests of all clients, without pauses between attempts."""
        monkeypatch.setattr(agentgym_envs.endpoints.retries, "FIRST_PAUSE_S", 0.0)
        plain = httpx.AsyncClient
        transport = httpx.MockTransport(self._answer)

        def made(**options: Any) -> httpx.AsyncClient:
            given = {"transport": transport} | {k: v for k, v in options.items() if v is not None}
            return plain(**given)

        monkeypatch.setattr(httpx, "AsyncClient", made)
        return self

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        self.headers.append(request.headers)
        left = self._answers[body["model"]]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return httpx.Response(answer, text="out of order")
        text = answer if isinstance(answer, str) else await answer()
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return httpx.Response(200, json={"choices": [{"message": {"content": text}}], "usage": usage})


async def settled(value: Any) -> Any:
    """The value of a reset or a step, which may be waited for."""
    return await value if isinstance(value, Awaitable) else value


def run(value: Any) -> Any:
    """The value of a reset or a step, outside of an event loop."""

    async def wait() -> Any:
        return await settled(value)

    return asyncio.run(wait())
