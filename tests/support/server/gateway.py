"""In-process servers behind a gateway, which tests stop, hang and restart."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
from support.server.environments import CheapMischief, Echo, Slow

from agentgym_server import ServerSettings, create_app
from agentgym_server.gateway.app import application
from agentgym_server.gateway.backends.upstream import Closed, Lost, Refused, Undelivered
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.gateway.routing import Request
from agentgym_server.wire.reply import Reply

ASGI = Any
BASE = "http://localhost"
TAGS = {"AAAB": "http://a", "AAAC": "http://b", "AAAD": "http://m"}
"""Addresses of a `House`'s servers by the prefix of their session ids."""


def home(session: str) -> str:
    """The address of a session's server."""
    return TAGS[session[2:6]]


def slug(problem: dict[str, Any]) -> str:
    """The slug of a problem document."""
    return problem["type"].removeprefix("urn:agentevol:problem:")


class WebSocket:
    """Client side of a WebSocket to an in-process application."""

    def __init__(self, app: ASGI, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "headers": [(b"host", b"localhost"), *headers],
            "subprotocols": ["agentevol.v1"],
        }
        self._inbox.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(app(scope, self._inbox.get, self._outbox.put))
        self.subprotocol: str | None = None

    async def open(self) -> "WebSocket":
        message = await self._outbox.get()
        if message["type"] != "websocket.accept":
            raise Refused(message.get("status", 403))
        self.subprotocol = message.get("subprotocol")
        return self

    async def send(self, message: str | bytes) -> None:
        key = "text" if isinstance(message, str) else "bytes"
        self._inbox.put_nowait({"type": "websocket.receive", key: message})

    async def receive(self) -> str | bytes:
        message = await self._outbox.get()
        if message["type"] == "websocket.close":
            raise Closed(message["code"])
        return message.get("text") or message["bytes"]

    async def close(self, code: int = 1000) -> None:
        self._inbox.put_nowait({"type": "websocket.disconnect", "code": code})
        await asyncio.gather(self.task, return_exceptions=True)

    async def ask(self, **frame: Any) -> Any:
        await self.send(json.dumps(frame))
        return await self.hear()

    async def hear(self) -> Any:
        return json.loads(await asyncio.wait_for(self.receive(), 5))

    def break_off(self) -> None:
        self._outbox.put_nowait({"type": "websocket.close", "code": 1006})


class Machines:
    """In-process servers by address; they die, hang and restart on command."""

    def __init__(self) -> None:
        self.apps: dict[str, ASGI] = {}
        self.sent: list[tuple[str, str, str]] = []
        """Requests that reached a server: address, method, path; without polls."""
        self.deaf: set[str] = set()
        """Servers that act, but whose replies are lost."""
        self.sockets: list[tuple[str, WebSocket]] = []

    def start(self, url: str, instance: int, worlds: dict[str, Any], **settings: Any) -> None:
        self.apps[url] = create_app(worlds, settings=ServerSettings(instance=instance, **settings))

    def kill(self, url: str) -> None:
        del self.apps[url]
        for home, socket in self.sockets:
            if home == url:
                socket.break_off()

    async def send(self, url: str, request: Request) -> Reply:
        app = self.apps.get(url)
        if app is None:
            raise Undelivered(refused=True)
        transport = httpx.ASGITransport(app)
        polled = request.path in ("/health", "/envs") and request.method == "GET"
        if not polled:
            self.sent.append((url, request.method, request.path))
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            reply = await client.request(
                request.method, request.target, content=request.body, headers=list(request.headers)
            )
        if self.apps.get(url) is not app or (url in self.deaf and not polled):
            raise Lost(url)
        headers = tuple(
            pair
            for pair in reply.headers.raw
            if pair[0] not in (b"content-type", b"content-length", b"x-request-id")
        )
        return Reply(
            reply.status_code,
            reply.content,
            headers,
            (b"content-type", reply.headers["content-type"].encode()),
        )

    async def connect(self, url: str, request: Request, subprotocols: Sequence[str]) -> WebSocket:
        if url not in self.apps:
            raise Undelivered(refused=True)
        headers = [pair for pair in request.headers if pair[0] == b"authorization"]
        socket = WebSocket(self.apps[url], request.path, request.query, headers)
        self.sockets.append((url, socket))
        self.sent.append((url, "WS", request.path))
        return await socket.open()

    async def close(self) -> None:
        pass


class Fixed:
    """Source with addresses that a test sets."""

    def __init__(self, name: str, *urls: str) -> None:
        self.name, self.list = name, list(urls)

    async def urls(self) -> list[str]:
        return self.list


class House:
    """Gateway with two servers of echo and slow, and one of mischief."""

    def __init__(self, **settings: Any) -> None:
        self.machines = Machines()
        both = {"echo": Echo, "slow": Slow}
        self.machines.start("http://a", 1, both, max_sessions=2, **settings)
        self.machines.start("http://b", 2, both, max_sessions=2, **settings)
        self.machines.start("http://m", 3, {"mischief": CheapMischief}, **settings)
        self.sources = [Fixed("echo", "http://a", "http://b"), Fixed("mischief", "http://m")]
        self.gateway = Gateway(self.sources, ServerSettings(**settings), self.machines)
        self.app = application(self.gateway)
        token = settings.get("token")
        self.http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app),
            base_url=BASE,
            headers={} if token is None else {"authorization": f"Bearer {token}"},
        )

    async def look(self) -> None:
        for source in self.sources:
            await self.gateway.watch.update(source)

    async def create(self, env: str = "echo", key: str | None = None, **body: Any) -> httpx.Response:
        headers = {} if key is None else {"idempotency-key": key}
        return await self.http.post(
            f"/envs/{env}/sessions", json={"task_id": "train/0", **body}, headers=headers
        )

    async def opened(self, env: str = "echo") -> str:
        reply = await self.create(env)
        assert reply.status_code == 201, reply.text
        return reply.json()["session_id"]

    async def step(self, session: str, turn: int, action: str) -> httpx.Response:
        return await self.http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})

    async def dial(self, path: str = "/ws", query: bytes = b"", headers: Sequence[Any] = ()) -> WebSocket:
        return await WebSocket(self.app, path, query, headers).open()
