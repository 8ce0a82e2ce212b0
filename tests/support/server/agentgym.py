"""Client and expected messages for tests of the AgentGym dialect."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.service import Service

FIRST = "Say stop. This is episode 0. Seed 0."
"""First observation of the test environment after a reset to index 0."""


class Client:
    """Test client that sends requests as AgentGym's classes do; a reply is a status and JSON, or text."""

    def __init__(self, http: httpx.AsyncClient, service: Service) -> None:
        self._http = http
        self.service = service

    async def post(self, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        if body is not None:
            options["json"] = body
        return _told(await self._http.post(f"http://localhost/agentgym/{path}", **options))

    async def get(self, path: str) -> tuple[int, Any]:
        return _told(await self._http.get(f"http://localhost/agentgym/{path}"))

    async def raw(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self._http.request(method, f"http://localhost{path}", **options)


def _told(reply: httpx.Response) -> tuple[int, Any]:
    assert "reward" not in reply.text or reply.status_code == 200
    is_json = reply.headers["content-type"] == "application/json"
    return reply.status_code, reply.json() if is_json else reply.text


@asynccontextmanager
async def serving(
    worlds: Mapping[Any, Callable[[], Any]], clock: Callable[[], float] | None = None, **settings: Any
) -> AsyncGenerator[Client]:
    """A server of these environments in this process; its service is closed at exit."""
    ticking: dict[str, Any] = {} if clock is None else {"clock": clock}
    app = create_app(worlds, settings=ServerSettings(**settings), **ticking)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
        yield Client(http, service_of(app))
    await service_of(app).close()


DIALECTS = [("maze", "id"), ("webshop", "env_idx"), ("webarena", "env_idx")]
RESETS: dict[str, dict[str, int]] = {
    "maze": {"game": 0},
    "webshop": {"session_id": 0},
    "webarena": {"seed": 0, "idx": 0},
}


def caught(env: str, text: str) -> tuple[int, Any]:
    """The error reply of a dialect to an operation that cannot be done."""
    return {
        "maze": (200, {"error": text}),
        "webshop": (500, f"Internal Server Error: {text}"),
        "webarena": (200, {"observation": text, "error": text}),
    }[env]
