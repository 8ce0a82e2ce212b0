"""HTTP client and helpers for tests of the OpenEnv dialect."""

import json
from typing import Any

import httpx
from starlette.types import ASGIApp
from support.server.local_socket import LocalSocket

JSON = {"content-type": "application/json"}


def client(app: ASGIApp) -> httpx.AsyncClient:
    """HTTP client of an application in this process."""
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=JSON)


async def v1_session(http: httpx.AsyncClient, env: str = "echo") -> str:
    """The id of a session that was created through the native wire format."""
    reply = await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", "seed": 1})
    return reply.json()["session_id"]


def code(reply: dict[str, Any]) -> str:
    """The code of an error frame, which has no reward."""
    assert reply["type"] == "error", reply
    assert "reward" not in json.dumps(reply)
    return reply["data"]["code"]


async def reset(socket: LocalSocket, **data: Any) -> dict[str, Any]:
    """The data of the first observation."""
    reply = await socket.ask({"type": "reset", "data": data})
    assert reply["type"] == "observation", reply
    return reply["data"]


async def step(socket: LocalSocket, text: str) -> dict[str, Any]:
    """The reply to a step."""
    return await socket.ask({"type": "step", "data": {"text": text}})
