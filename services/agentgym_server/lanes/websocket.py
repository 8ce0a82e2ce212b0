"""WebSocket lane: many operations on one connection, answered in order of completion.

    > {"id": "a1", "op": "step", "session_id": "s_...", "turn": 1, "action": "look"}
    < {"id": "a1", "ok": true, "status": 200, "result": {"turn": 1, "observation": "...", ...}}

Operations, turn rules and sessions are those of REST; a session may be used through both alternately. A
closed connection ends nothing else: a step that runs completes, and its reply is stored for a repeated
request.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, cast

from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from agentgym_server.lanes.auth import Scope
from agentgym_server.lanes.endpoints import Served
from agentgym_server.lanes.limits import Bucket
from agentgym_server.lanes.operations import Item, batch, refused, result
from agentgym_server.service import Service
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem

SUBPROTOCOL = "agentevol.v1"
MAX_ID_CHARS = 64
UNSUPPORTED_DATA = 1003


Answer = Callable[[Item], bytes | Awaitable[bytes]]
"""Function from a frame without its id to the members of its reply, immediate where no waiting is needed."""


async def connect(
    service: Service, caller: Scope, bucket: Bucket, scope: AsgiScope, receive: Receive, send: Send
) -> None:
    """Serve a connection with the sessions of this server."""
    await Lane(service, lambda frame: answer(service, frame, caller), bucket, send).run(scope, receive)


def answer(service: Service, frame: Item, caller: Scope) -> bytes | Awaitable[bytes]:
    """Execute the operation of a frame, or its batch of operations."""
    if frame.get("op") == "batch":
        return _batch(service, frame, caller)
    return result(service, frame, caller)


async def _batch(service: Service, frame: Item, caller: Scope) -> bytes:
    del frame["op"]
    try:
        reply = await batch(service, frame, caller)
    except Problem as problem:
        return refused(problem)
    return b'"ok":true,"status":200,"result":' + reply.body


class Lane:
    """One connection."""

    def __init__(self, service: Served, answer: Answer, bucket: Bucket, send: Send) -> None:
        self._service = service
        self._answer = answer
        self._bucket = bucket
        self._send = send
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self, scope: AsgiScope, receive: Receive) -> None:
        """Answer frames until the connection closes."""
        await receive()  # the connect message
        chosen = SUBPROTOCOL if SUBPROTOCOL in scope["subprotocols"] else None
        await self._send({"type": "websocket.accept", "subprotocol": chosen})
        self._service.metrics.connections += 1
        try:
            while (message := await receive())["type"] == "websocket.receive":
                text = message.get("text")
                if text is None:
                    await self._send({"type": "websocket.close", "code": UNSUPPORTED_DATA})
                    return
                await self._hear(text)
        finally:
            self._service.metrics.connections -= 1
            for task in self._running.values():
                task.cancel()  # the caller is gone; the operation itself continues
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _hear(self, text: str) -> None:
        name: str | None = None
        try:
            frame = _parsed(text)
            name = self._name(frame)
            self._admit(frame)
        except Problem as problem:
            await self._say(name, refused(problem))
            return
        del frame["id"]
        answer = self._answer(frame)
        if isinstance(answer, bytes):
            await self._say(name, answer)
            return
        self._running[name] = asyncio.create_task(self._say_later(name, answer))

    def _name(self, frame: dict[str, Any]) -> str:
        name = frame.get("id")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_ID_CHARS:
            raise Problem("invalid-json", f"a frame needs an id: a string of 1 to {MAX_ID_CHARS} characters")
        return name

    def _admit(self, frame: dict[str, Any]) -> None:
        if frame["id"] in self._running:
            raise Problem("invalid-json", "an operation with this id is still running")
        if len(self._running) >= self._service.settings.max_in_flight:
            raise Problem("too-many-in-flight", f"{len(self._running)} operations of this connection run")
        self._bucket.take(_weight(frame))

    async def _say_later(self, name: str, answer: Awaitable[bytes]) -> None:
        try:
            members = await answer
        finally:
            del self._running[name]
        with contextlib.suppress(OSError):  # the connection is closed
            await self._say(name, members)

    async def _say(self, name: str | None, members: bytes) -> None:
        text = f'{{"id":{strict_json.dump(name).decode()},{members.decode()}}}'
        await self._send({"type": "websocket.send", "text": text})


def _parsed(text: str) -> dict[str, Any]:
    try:
        frame = strict_json.parse_text(text)
    except strict_json.InvalidJson as cause:
        raise Problem("invalid-json", str(cause)) from None
    if not isinstance(frame, dict):
        raise Problem("invalid-json", "a frame must be a JSON object")
    return cast("dict[str, Any]", frame)


def _weight(frame: dict[str, Any]) -> int:
    items = frame.get("items")
    return max(1, len(cast("list[Any]", items))) if isinstance(items, list) else 1
