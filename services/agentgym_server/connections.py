"""Connections: uvicorn's protocols, with limits on what a client may do before and beside its requests.

A request's head has a time and a size; a client that does not read is not read from; and what is no HTTP, or
no WebSocket handshake, is told so as a problem.
"""

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from agentgym_server.problems import Problem, clipped
from agentgym_server.reply import problem_reply
from agentgym_server.settings import ServerSettings

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

SWITCHING = 101
INVALID_TEXT = 1007
LINGER_S = 2.0


def http_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """The HTTP protocol with these limits: uvicorn makes its instances, so they are facts of the class."""
    limits = {
        "head_timeout_s": settings.head_timeout_s,
        "max_head_bytes": settings.max_head_bytes + settings.max_url_bytes,
    }
    return type("HeadGuard", (HeadGuard,), limits)


class PatientFlow(FlowControl):
    """Reads no more of a connection while requests that came over it wait for their turn."""

    def __init__(self, transport: asyncio.Transport, pipeline: Collection[object]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Read on if nothing waits: uvicorn resumes with every answer, and a chunk holds many requests."""
        if not self._pipeline and not self._transport.is_closing():
            super().resume_reading()


class HeadGuard(HttpToolsProtocol):
    """HTTP. A head that takes too long closes its connection; one that is too big is refused unfinished."""

    head_timeout_s = 10.0
    max_head_bytes = 1 << 15
    _limit: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _chunk_bytes = 0
    _upgraded = False
    _running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Await the first head."""
        super().connection_made(cast("asyncio.Transport", transport))
        self.flow = PatientFlow(self.transport, self.pipeline)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Parse what came; while there is no request, its head is awaited."""
        self._chunk_bytes = len(data)
        super().data_received(data)
        if self._upgraded or self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.max_head_bytes:
                text = f"a request's head may have at most {self.max_head_bytes} bytes"
                refuse(self.transport, Problem("head-too-large", text))
        if self._in_head or self._idle:
            self._await_head()

    @property
    def _idle(self) -> bool:
        cycle = cast("Any", self.cycle)  # None before the first request
        return cycle is None or cycle.response_complete

    def on_message_begin(self) -> None:
        """A head begins, somewhere in this chunk: those after it are counted."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, -self._chunk_bytes

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._in_head = False
        self._forget()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """From here on there are frames, and no more heads."""
        self._upgraded = True
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        refuse(self.transport, Problem("bad-request", msg))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the watch, and tell the request that runs: uvicorn tells the one that came last."""
        self._forget()
        self.pipeline.clear()
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _await_head(self) -> None:
        if self._limit is None:
            self._limit = self.loop.call_later(self.head_timeout_s, self.transport.close)

    def _forget(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


class FrameGuard(WebSocketsSansIOProtocol):
    """WebSockets. Whoever does not read what is sent, pongs too, is not read from."""

    _failed = False

    def data_received(self, data: bytes) -> None:
        """Parse what came, refuse a handshake that cannot be parsed, drop what follows a failure."""
        if self._failed:
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_complete:
            self._refuse(self.conn.handshake_exc)

    def handle_connect(self, event: Request) -> None:
        """Refuse a handshake that is none, or ask the application."""
        if self.conn.accept(event).status_code == SWITCHING:
            super().handle_connect(event)

    async def send(self, message: "ASGISendEvent") -> None:
        """Send a message; a refusal that is complete ends the handshake, which uvicorn logs as never done."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def send_receive_event_to_app(self) -> None:
        """Hand a message on; text that is no UTF-8 ends the connection."""
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_text(self.frames):
            self.frames = []
            self.conn.fail(INVALID_TEXT, "invalid UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        """Tell the client with which code it failed, then wait until it has stopped sending.

        A socket that is closed before all was read answers with a reset, which may overtake the code.
        """
        cause = self.conn.close_sent
        assert cause is not None
        self.queue.put_nowait({"type": "websocket.disconnect", "code": cause.code, "reason": cause.reason})
        self.close_sent = self._failed = True
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close_timer = self.loop.call_later(LINGER_S, self.transport.close)

    def pause_writing(self) -> None:
        """The client does not read: what it sends waits as well."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        if not self.read_paused:
            self.transport.resume_reading()

    def _refuse(self, cause: Exception) -> None:
        self.handshake_complete = self.close_sent = True
        refuse(self.transport, Problem("bad-request", f"no WebSocket handshake: {clipped(str(cause))}"))


def _is_text(pieces: list[bytes]) -> bool:
    try:
        b"".join(pieces).decode()
    except UnicodeDecodeError:
        return False
    return True


def refuse(transport: asyncio.Transport, problem: Problem) -> None:
    """Answer with a problem and hang up."""
    reply = problem_reply(problem)
    headers = [reply.content_type, (b"content-length", b"%d" % len(reply.body)), (b"connection", b"close")]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    transport.write(b"%b%b\r\n%b" % (STATUS_LINE[reply.status], lines, reply.body))
    transport.close()
