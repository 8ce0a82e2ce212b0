"""Proxy for requests that the gateway does not answer itself, to the server that they belong to.

Requests have passed the gate: they are authenticated, and their bodies are bounded and read. The server
checks again, with the caller's own token.
"""

import asyncio
import contextlib
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from agentgym_server.gateway.backends.delivery import Delivery, DeliveryRequest
from agentgym_server.gateway.backends.fleet import Backend
from agentgym_server.gateway.backends.upstream import Closed, Refused, Socket, target_of
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.gateway.routing import Request, act_of, destination, repeatable, slots_of, tag_of
from agentgym_server.lanes.auth import Scope as Rank
from agentgym_server.lanes.endpoints import preferred_wait_s
from agentgym_server.lanes.gate import NO_STORE, deny, need, respond
from agentgym_server.lanes.operations import OPERATIONS
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import PROBLEM_JSON, Reply, json_reply, problem_reply

NORMAL_CLOSURE = 1000
INTERNAL_ERROR = 1011
NEVER_SENT = (1005, 1006, 1015)
"""Reserved close codes that are never sent in a frame."""
SESSION_LOST = strict_json.dump(
    {
        "type": "error",
        "data": {
            "message": "the server of this session died",
            "code": "SESSION_ERROR",
            "failure": {"kind": "worker-lost"},
        },
    }
).decode()
"""Frame for OpenEnv's clients before the connection closes."""


class Proxy:
    """ASGI application that forwards to servers."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        parts = (gateway.fleet, gateway.watch, gateway.homes, gateway.queues)
        self._replies = Delivery[Reply](*parts, lambda reply: reply.status, _document)
        self._sockets = Delivery["Tunnel | Refused"](*parts, _joined)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one request or one WebSocket; raises its `Problem`."""
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
            return
        head = scope["method"] == "HEAD"
        message = await receive()
        request = request_of(scope, "GET" if head else scope["method"], message.get("body", b""))
        await respond(send, await self.answer(request, scope["agentevol.caller"]), (), with_body=not head)

    async def answer(self, request: Request, caller: Rank) -> Reply:
        """The server's reply, or the recorded state of a session whose server was lost; raises `Problem`."""
        act, records = act_of(request), self._gateway.records
        try:
            reply = await self._deliver(request)
        except Problem:
            view = records.answer(act) if self._gateway.fleet.died(tag_of(act.session_id)) else None
            if view is None:
                raise
            need(OPERATIONS[act.name].scope, caller)
            return json_reply(view, headers=(NO_STORE,))
        records.note(act, reply.status, reply.body)
        return reply

    async def _deliver(self, request: Request) -> Reply:
        if not request.target.startswith("/"):
            raise Problem("not-found", "no such route")
        wait_s = preferred_wait_s(request.header(b"prefer") or "")
        delivery = DeliveryRequest(
            destination(request), repeatable(request), wait_s, lambda: slots_of(request)
        )

        async def attempt(backend: Backend, wait: bool) -> Reply:
            given = request if wait else request.without(b"prefer")
            return await backend.exchange(self._gateway.upstream, given)

        return await self._replies.deliver(delivery, attempt)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Connect a caller's WebSocket to one of the server that it belongs to."""
        await receive()  # the connect message
        request = request_of(scope, "GET", b"")
        place = destination(request)
        delivery = DeliveryRequest(place._replace(begins=place.tag is None), repeatable=False)

        async def attempt(backend: Backend, _: bool) -> Tunnel | Refused:
            try:
                socket = await self._gateway.upstream.connect(backend.url, request, scope["subprotocols"])
            except Refused as refusal:
                return refusal
            return Tunnel(backend, socket)

        try:
            joined = await self._sockets.deliver(delivery, attempt)
            if isinstance(joined, Refused):
                slug = "unauthorized" if joined.status == 401 else "not-found"
                raise Problem(slug, "no server accepts this connection")
        except Problem as problem:
            if scope["path"].startswith("/openenv/") and self._gateway.fleet.died(place.tag):
                await _accept_and_tell(send)
            else:
                await deny(send, problem_reply(problem, scope["path"]))
        else:
            await joined.run(receive, send, tells=scope["path"].endswith("/ws"))


class Tunnel:
    """Bidirectional relay of frames between a caller and a server."""

    def __init__(self, backend: Backend, socket: Socket) -> None:
        self._backend, self._socket = backend, socket

    async def run(self, receive: Receive, send: Send, tells: bool) -> None:
        """Relay until one side closes; `tells`: a caller whose server is lost gets a last frame."""
        await send({"type": "websocket.accept", "subprotocol": self._socket.subprotocol})
        upward = asyncio.create_task(self._up(receive))
        downward = asyncio.create_task(self._down(send))
        try:
            with self._backend.watched(downward.cancel):
                await asyncio.wait((upward, downward), return_when=asyncio.FIRST_COMPLETED)
            if not upward.done():
                await self._leave(send, downward, tells)
        finally:
            upward.cancel()
            downward.cancel()
            await asyncio.gather(upward, downward, return_exceptions=True)
            await self._socket.close()

    async def _leave(self, send: Send, downward: "asyncio.Task[int]", tells: bool) -> None:
        code = 1006 if downward.cancelled() else downward.result()
        if code == 1006 and tells:
            await send({"type": "websocket.send", "text": SESSION_LOST})
        await send({"type": "websocket.close", "code": INTERNAL_ERROR if code in NEVER_SENT else code})

    async def _up(self, receive: Receive) -> None:
        with contextlib.suppress(Closed):
            while (message := await receive())["type"] == "websocket.receive":
                await self._socket.send(_payload(message))

    async def _down(self, send: Send) -> int:
        """The close code of the server."""
        try:
            while True:
                frame = await self._socket.receive()
                kind = "text" if isinstance(frame, str) else "bytes"
                await send({"type": "websocket.send", kind: frame})
        except Closed as end:
            return end.code


async def _accept_and_tell(send: Send) -> None:
    """Tell an OpenEnv client that the session is lost: a refused upgrade would not show it."""
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.send", "text": SESSION_LOST})
    await send({"type": "websocket.close", "code": NORMAL_CLOSURE})


def request_of(scope: Scope, method: str, body: bytes) -> Request:
    """The request in the form of `routing`."""
    raw: Any = scope.get("raw_path")
    target = target_of(raw or scope["path"].encode(), scope["query_string"])
    return Request(method, scope["path"], target, scope["query_string"], tuple(scope["headers"]), body)


def _document(reply: Reply) -> bytes:
    """The problem document of a reply, empty where it is none."""
    return reply.body if reply.content_type == PROBLEM_JSON else b""


def _joined(outcome: "Tunnel | Refused") -> int:
    if isinstance(outcome, Tunnel):
        return 101
    return 404 if outcome.status == 403 else outcome.status  # Starlette refuses an unknown path with 403


def _payload(message: Message) -> str | bytes:
    text = message.get("text")
    return message["bytes"] if text is None else text
