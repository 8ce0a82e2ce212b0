"""WebSocket lane: all sessions of a client on one connection, with concurrent steps sent as one batch.

A batch is answered as a whole, so that it helps only if steps are quick: after a slow batch, the lane sends
frames of single steps for a while. When a connection is lost, its pending operations fail with
`TransportError`; repeating them is safe, and opens another connection.
"""

import asyncio
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from agentgym_client.errors import EnvClientError, TransportError
from agentgym_client.operations import Operation, as_frame, encoded
from agentgym_client.rest import problem_of

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

SUBPROTOCOL = "agentevol.v1"
MOST_ITEMS = 128
MOST_ACTION_CHARS = 2000
"""Maximum size of an action in a batch: 128 of them fit a frame of 1 MiB, whatever their characters."""
MOST_REPLY_BYTES = 1 << 28
"""Maximum size of a frame: a batch of long observations is long."""
QUICK_S = 0.05
"""Time above which a batch makes the lane send single steps,"""
SINGLE_FOR_S = 5.0
"""and the time for which it does so."""
TELLING = (401, 403, 429, 503)
"""Statuses of a refused upgrade that the server itself sent; others mean that there is no lane."""
BROKEN_PROXY = (500, 502, 504)


class NoLane(Exception):
    """The server, or a proxy before it, offers no WebSocket."""


class Waiting(NamedTuple):
    """Pending operation."""

    frame: dict[str, Any]
    """Frame without its id."""
    reply: asyncio.Future[Any]
    timeout_s: float
    alone: bool = False

    @property
    def is_small_step(self) -> bool:
        """True if it may be sent in a batch."""
        action = self.frame.get("action")
        return not self.alone and isinstance(action, str) and len(action) <= MOST_ACTION_CHARS


class Sent(NamedTuple):
    """Frame that was sent."""

    group: list[Waiting]
    at: float
    limit: asyncio.TimerHandle
    """Timer of its timeout."""


class WebSocketLane:
    """Lane over one connection, which is opened with the first operation."""

    def __init__(self, base_url: str, token: str | None) -> None:
        self._url = f"ws{base_url.removeprefix('http').rstrip('/')}/ws"
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._line: Connection | None = None
        self._opening: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def perform(self, operation: Operation, timeout_s: float) -> Any:
        """The result of an operation; raises `ServerProblem`, `TransportError` or `NoLane`."""
        line = self._line
        if line is None or line.lost or self._loop is not asyncio.get_running_loop():
            line = await self._opened(timeout_s)
        frame = as_frame(operation)
        if not isinstance(frame.get("action"), str):
            encoded(frame)  # a value that is not JSON is its caller's error, and must not fail the others
        return await line.ask(frame, timeout_s, operation.alone)

    async def close(self) -> None:
        """Close the connection; sessions continue."""
        line, self._line = self._line, None
        if line is not None and self._loop is asyncio.get_running_loop():
            await line.close()

    async def _opened(self, timeout_s: float) -> "Connection":
        loop = asyncio.get_running_loop()
        if self._opening is None or self._loop is not loop:
            self._opening, self._loop, self._line = asyncio.Lock(), loop, None
        async with self._opening:
            if self._line is None or self._line.lost:
                self._line = Connection(await self._connect(timeout_s))
            return self._line

    async def _connect(self, timeout_s: float) -> "ClientConnection":
        from websockets.asyncio.client import connect
        from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
        from websockets.typing import Subprotocol

        try:
            return await connect(
                self._url,
                additional_headers=self._headers,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                compression=None,
                max_size=MOST_REPLY_BYTES,
                open_timeout=timeout_s,
                close_timeout=1.0,
            )
        except InvalidStatus as refusal:
            raise _refusal(refusal.response.status_code, refusal.response.body) from None
        except InvalidHandshake as cause:
            raise NoLane(repr(cause)) from cause
        except (OSError, EOFError, ConnectionClosed) as cause:  # EOFError: closed before the upgrade was sent
            host = urlsplit(self._url).netloc.rpartition("@")[2]  # without the token before it
            raise TransportError(f"ws://{host}: {cause!r}") from cause


def _refusal(status: int, body: bytes | bytearray | None) -> Exception:
    if status in BROKEN_PROXY:
        return TransportError(f"status {status} for an upgrade")
    if status not in TELLING:
        return NoLane(f"status {status}")
    try:
        document = json.loads(body or b"")
    except ValueError:
        document = None
    return problem_of(status, document)


class Connection:
    """Open connection."""

    def __init__(self, connection: "ClientConnection") -> None:
        self._connection = connection
        self._queued: list[Waiting] = []
        self._sent: dict[str, Sent] = {}
        self._count = 0
        self._single_until = 0.0
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._writer = asyncio.create_task(self._write())
        self._reader = asyncio.create_task(self._read())
        self.lost = False

    def ask(self, frame: dict[str, Any], timeout_s: float, alone: bool = False) -> asyncio.Future[Any]:
        """Send a frame; the future gets its result."""
        reply: asyncio.Future[Any] = self._loop.create_future()
        self._queued.append(Waiting(frame, reply, timeout_s, alone))
        self._wake.set()
        return reply

    async def close(self) -> None:
        """Close the connection."""
        self._lose("the client was closed")
        await self._connection.close()
        await asyncio.gather(self._writer, self._reader, return_exceptions=True)

    async def _write(self) -> None:
        """Send the queued operations, once per iteration of the event loop."""
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                queued, self._queued = self._queued, []
                groups = self._groups([one for one in queued if not one.reply.done()])
                for frame in [self._frame(group) for group in groups]:  # all are encoded before one is sent
                    await self._connection.send(frame, text=True)
        except Exception as cause:  # noqa: BLE001 - after any exception nothing can be sent
            self._lose(repr(cause))

    async def _read(self) -> None:
        try:
            while True:
                self._hear(json.loads(await self._connection.recv(decode=False)))
        except Exception as cause:  # noqa: BLE001 - closed, cut or garbled: nothing can be received
            self._lose(repr(cause))

    def _groups(self, queued: list[Waiting]) -> Iterator[list[Waiting]]:
        """Small steps in batches, all others alone."""
        batching = self._loop.time() >= self._single_until
        small = [one for one in queued if batching and one.is_small_step]
        yield from ([one] for one in queued if not (batching and one.is_small_step))
        yield from (small[start : start + MOST_ITEMS] for start in range(0, len(small), MOST_ITEMS))

    def _frame(self, group: list[Waiting]) -> bytes:
        self._count += 1
        name = str(self._count)
        limit = self._loop.call_later(group[0].timeout_s, self._give_up, name)
        self._sent[name] = Sent(group, self._loop.time(), limit)
        if len(group) == 1:
            return encoded({"id": name, **group[0].frame})
        return encoded({"id": name, "op": "batch", "items": [one.frame for one in group]})

    def _hear(self, reply: dict[str, Any]) -> None:
        sent = self._sent.pop(reply["id"], None)
        if sent is None:
            return  # it timed out
        sent.limit.cancel()
        now, group = self._loop.time(), sent.group
        if len(group) > 1 and now - sent.at > QUICK_S:
            self._single_until = now + SINGLE_FOR_S
        whole = len(group) > 1 and reply["ok"]
        results = cast("list[Any]", reply["result"]["results"]) if whole else [reply] * len(group)
        for waiting, result in zip(group, results, strict=True):
            if not waiting.reply.done():
                _settle(waiting.reply, result)

    def _give_up(self, name: str) -> None:
        """Fail an operation that timed out; its result is stored for a repeated request."""
        for one in self._sent.pop(name).group:
            _fail(one.reply, f"{one.frame['op']}: no answer within {one.timeout_s:g} s")

    def _lose(self, reason: str) -> None:
        """Fail all pending operations; repeating them on another connection is safe."""
        self.lost = True
        self._writer.cancel()
        self._reader.cancel()
        for sent in self._sent.values():
            sent.limit.cancel()
        waiting = [one for sent in self._sent.values() for one in sent.group] + self._queued
        self._sent.clear()
        self._queued.clear()
        for one in waiting:
            _fail(one.reply, f"the connection was lost: {reason}")


def _fail(reply: asyncio.Future[Any], text: str) -> None:
    if not reply.done():
        reply.set_exception(TransportError(text))


def _settle(reply: asyncio.Future[Any], result: dict[str, Any]) -> None:
    if result["ok"]:
        reply.set_result(result["result"])
        return
    problem: EnvClientError = problem_of(result["status"], result["problem"])
    reply.set_exception(problem)
