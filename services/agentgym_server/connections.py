"""HTTP and WebSocket protocols of uvicorn with limits on slow, large and unread input.

The head of a request has a time limit and a size limit; reading from a client that does not read is paused;
bytes that are no HTTP request or WebSocket handshake are answered with a problem.
"""

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from agentgym_server.settings import ServerSettings
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.reply import problem_reply

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

SWITCHING = 101
INVALID_TEXT = 1007
LINGER_S = 2.0


def http_protocol(settings: ServerSettings) -> type[asyncio.Protocol]:
    """The HTTP protocol class with these limits; a class, since uvicorn creates the instances."""
    limits = {
        "head_timeout_s": settings.head_timeout_s,
        "max_head_bytes": settings.max_head_bytes + settings.max_url_bytes,
    }
    return type("HeadGuard", (HeadGuard,), limits)


class PatientFlow(FlowControl):
    """Flow control that pauses reading from a connection while its requests wait in the queue."""

    def __init__(self, transport: asyncio.Transport, pipeline: Collection[object]) -> None:
        super().__init__(transport)
        self._pipeline = pipeline

    def resume_reading(self) -> None:
        """Resume reading if no request waits: uvicorn resumes after every response, and a chunk holds many
        requests.
        """
        if not self._pipeline and not self._transport.is_closing():
            super().resume_reading()


class HeadGuard(HttpToolsProtocol):
    """HTTP protocol with limits on heads: a slow one closes its connection; a large one is refused unread."""

    head_timeout_s = 10.0
    max_head_bytes = 1 << 15
    _limit: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _chunk_bytes = 0
    _upgraded = False
    _running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timer of the first head."""
        super().connection_made(cast("asyncio.Transport", transport))
        self.flow = PatientFlow(self.transport, self.pipeline)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Parse a chunk; while there is no request, the timer of its head runs."""
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
        """Start to count the bytes of a head, from the next chunk on."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, -self._chunk_bytes

    def on_headers_complete(self) -> None:
        """Stop the timer of the head."""
        self._in_head = False
        self._forget()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """Mark the connection as upgraded: frames follow, and no more heads."""
        self._upgraded = True
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Respond with a problem to bytes that are no HTTP."""
        refuse(self.transport, Problem("bad-request", msg))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer and notify the running request: uvicorn notifies the one that came last."""
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
    """WebSocket protocol with flow control: while a client does not read what is sent (pongs too), it is not
    read.
    """

    _failed = False

    def data_received(self, data: bytes) -> None:
        """Parse a chunk, refuse a handshake that cannot be parsed, and drop what follows a failure."""
        if self._failed:
            return
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_complete:
            self._refuse(self.conn.handshake_exc)

    def handle_connect(self, event: Request) -> None:
        """Refuse an invalid handshake, or pass the connection to the application."""
        if self.conn.accept(event).status_code == SWITCHING:
            super().handle_connect(event)

    async def send(self, message: "ASGISendEvent") -> None:
        """Send a message; a complete refusal ends the handshake, which uvicorn logs as incomplete."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def send_receive_event_to_app(self) -> None:
        """Pass a message to the application; text that is not UTF-8 closes the connection."""
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_text(self.frames):
            self.frames = []
            self.conn.fail(INVALID_TEXT, "invalid UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        """Send the close code of the failure, then wait until the client has stopped sending.

        Closing a socket with unread data sends a reset, which may overtake the close code.
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
        """Pause reading while the client does not read."""
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading."""
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
    """Respond with a problem and close the connection."""
    reply = problem_reply(problem)
    headers = [reply.content_type, (b"content-length", b"%d" % len(reply.body)), (b"connection", b"close")]
    lines = b"".join(b"%b: %b\r\n" % header for header in headers)
    transport.write(b"%b%b\r\n%b" % (STATUS_LINE[reply.status], lines, reply.body))
    transport.close()
