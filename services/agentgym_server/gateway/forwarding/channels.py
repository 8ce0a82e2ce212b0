"""Channels for operations to a server: items of `POST /batch`, or frames of a WebSocket to its `/ws`.

Both carry operations unchanged, with the caller's own token, and return the members of each result as the
server wrote them: `"ok":true,"status":200,"result":{...}`.
"""

import asyncio
import itertools
import json
from collections.abc import Sequence
from typing import Any, Protocol, cast

from agentgym_server.gateway.backends.fleet import Backend
from agentgym_server.gateway.backends.upstream import Closed, Lost, Refused, Socket, Undelivered, Upstream
from agentgym_server.gateway.routing import Request
from agentgym_server.lanes.websocket import SUBPROTOCOL
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import Headers

JSON_TYPE = (b"content-type", b"application/json")
REFUSALS = {401: "unauthorized", 403: "forbidden-scope", 429: "rate-limited"}


class Channel(Protocol):
    """Channel to one server; both methods raise `Undelivered` or `Lost`."""

    async def operate(self, item: object) -> bytes:
        """The members of one operation's result."""
        ...

    async def batch(self, items: Sequence[object]) -> list[bytes]:
        """The members of each result, those of one session in order."""
        ...


class HttpChannel:
    """Operations as `POST /batch`."""

    def __init__(self, upstream: Upstream, backend: Backend, headers: Headers) -> None:
        self._upstream, self._backend, self._headers = upstream, backend, headers

    async def operate(self, item: object) -> bytes:
        """See `Channel.operate`."""
        return (await self.batch([item]))[0]

    async def batch(self, items: Sequence[object]) -> list[bytes]:
        """See `Channel.batch`."""
        body = strict_json.dump({"items": items})
        request = Request("POST", "/batch", "/batch", b"", (*self._headers, JSON_TYPE), body)
        reply = await self._backend.exchange(self._upstream, request)
        if reply.status != 200:
            return [b'"ok":false,"status":%d,"problem":%b' % (reply.status, reply.body)] * len(items)
        return _results(reply.body)


class SocketChannel:
    """Operations as frames; the connection opens with the first."""

    def __init__(self, upstream: Upstream, backend: Backend, headers: Headers, max_frame: int) -> None:
        self._upstream, self._backend, self._headers = upstream, backend, headers
        self._max_frame = max_frame
        self._numbers = map(str, itertools.count(1))
        self._outbox = asyncio.Queue[str]()
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self.open = True
        """True if it accepts operations."""
        self._task = asyncio.create_task(self._run())

    async def operate(self, item: object) -> bytes:
        """See `Channel.operate`; raises the problem of a frame that is too large."""
        name = next(self._numbers)
        text = strict_json.dump({**cast("dict[str, Any]", item), "id": name}).decode()
        if len(text) > self._max_frame or len(text.encode()) > self._max_frame:
            raise Problem("payload-too-large", f"a frame may have at most {self._max_frame} bytes")
        reply = self._waiting[name] = asyncio.get_running_loop().create_future()
        self._outbox.put_nowait(text)  # before any await, so that frames keep their order
        try:
            return await reply
        finally:
            self._waiting.pop(name, None)

    async def batch(self, items: Sequence[object]) -> list[bytes]:
        """See `Channel.batch`."""
        members = await self.operate({"op": "batch", "items": items})
        if not members.startswith(b'"ok":true'):
            return [members] * len(items)
        return _results(members.partition(b'"result":')[2])

    async def close(self) -> None:
        """Close the connection; sessions continue."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        """Connect and relay frames until the end; then no caller waits any more."""
        try:
            with self._backend.watched(self._task.cancel):
                await self._connect()
        except (Undelivered, Lost) as cause:
            self._end(cause)
        except Refused as cause:
            slug = REFUSALS.get(cause.status, "unavailable")
            self._end(Problem(slug, "the server refuses the connection"))
        finally:
            self._end(Lost("the connection ended"))

    async def _connect(self) -> None:
        request = Request("GET", "/ws", "/ws", b"", self._headers)
        socket = await self._upstream.connect(self._backend.url, request, (SUBPROTOCOL,))
        writer = asyncio.create_task(self._write(socket))
        try:
            while True:
                self._hear(await socket.receive())
        except Closed:
            return
        finally:
            self._end(Lost("the connection ended"))  # before the close handshake, which may take long
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            await socket.close()

    async def _write(self, socket: Socket) -> None:
        while True:
            await socket.send(await self._outbox.get())

    def _hear(self, frame: str | bytes) -> None:
        """Handle a frame `{"id":"7","ok":true,...}`: the members after the id are the result."""
        text = frame if isinstance(frame, str) else frame.decode()
        head, _, members = text.partition(",")
        reply = self._waiting.get(head.removeprefix('{"id":"').removesuffix('"'))
        if reply is not None and not reply.done():
            reply.set_result(members.removesuffix("}").encode())

    def _end(self, cause: Exception) -> None:
        self.open = False
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(cause)


def _results(body: bytes) -> list[bytes]:
    results = cast("dict[str, list[object]]", json.loads(body))["results"]
    return [strict_json.dump(result)[1:-1] for result in results]


def status_of(members: bytes) -> int:
    """The status of a result by its members."""
    return int(members.partition(b'"status":')[2].partition(b",")[0])
