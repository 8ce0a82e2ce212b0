"""HTTP/1.1 over kept-alive connections, only as much of it as an environment server and its proxies need.

Replies are read whole: by `Content-Length`, in chunks, or until the connection ends. No redirects, cookies or
compression: the client asks for none of them.
"""

import asyncio

from agentgym_client.errors import TransportError
from agentgym_client.exchange import Header, Reply

IDLE_S = 60.0
"""A connection idle for longer is not used again: servers close theirs after 75 s."""
MAX_HEAD_BYTES = 65536
BODILESS = (204, 304)


class SocketExchange:
    """A pool of connections to one server."""

    def __init__(self, host: str, port: int, prefix: str, connections: int) -> None:
        self._host, self._port, self._prefix = host, port, prefix
        shown = f"[{host}]" if ":" in host else host
        self._head = f"{{}} {prefix}{{}} HTTP/1.1\r\nhost: {shown}:{port}\r\n"
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[Connection] = []
        self._closed = False

    async def send(self, method: str, target: str, headers: tuple[Header, ...], body: bytes) -> Reply:
        """See `Exchange.send`."""
        head = [self._head.format(method, target).encode()]
        head += [name + b": " + value + b"\r\n" for name, value in headers]
        if body or method == "POST":
            head.append(b"content-length: %d\r\n" % len(body))
        data = b"".join((*head, b"\r\n", body))
        async with self._slots:
            try:
                return await self._send(data)
            except OSError as cause:
                raise TransportError(f"{method} {self._host}:{self._port}{target}: {cause!r}") from cause

    async def close(self) -> None:
        """Close all idle connections; those in use close when their reply is there."""
        self._closed = True
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _send(self, data: bytes) -> Reply:
        connection = self._take() or await self._connect()
        try:
            reply = await connection.exchange(data)
        except BaseException:
            connection.close()
            raise
        if connection.reusable and not self._closed:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
        return reply

    def _take(self) -> "Connection | None":
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and now - connection.idle_since < IDLE_S:
                return connection
            connection.close()
        return None

    async def _connect(self) -> "Connection":
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, self._host, self._port)
        return connection


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._parser = ReplyParser()
        self.reusable = True
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    async def exchange(self, data: bytes) -> Reply:
        """Send a request and await its reply; raises `OSError` or `TransportError`."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionResetError("the connection is closed")
        self._reply = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return await self._reply

    def close(self) -> None:
        """Close the connection."""
        self.reusable = False
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Go on with the reply."""
        if self._reply is None or self._reply.done():
            self.close()  # nobody asked for this
            return
        try:
            reply = self._parser.feed(data)
        except ValueError as cause:
            self._fail(TransportError(f"garbled reply: {cause}"))
            self.close()
            return
        if reply is not None:
            self._finish(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """Finish a reply that ends with its connection; fail one that is cut."""
        self.reusable = False
        if self._reply is None or self._reply.done():
            return
        reply = self._parser.end()
        if reply is not None:
            self._finish(reply)
        else:
            self._fail(exc or ConnectionResetError("the server closed the connection without a reply"))

    def _finish(self, reply: Reply) -> None:
        self.reusable = self.reusable and self._parser.keep_alive and not self._parser.left_over
        self._parser = ReplyParser()
        if self._reply is not None:
            self._reply.set_result(reply)

    def _fail(self, cause: Exception) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(cause)


class ReplyParser:
    """Reads one reply, piece by piece; raises `ValueError` for what is no HTTP/1.1."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._status = 0
        self._headers: dict[bytes, bytes] | None = None
        self._chunks: list[bytes] | None = None
        self._length: int | None = None
        self.keep_alive = True

    @property
    def left_over(self) -> bool:
        """Whether bytes came after the reply."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> Reply | None:
        """The reply, once it is complete."""
        self._buffer += data
        while self._headers is None:
            if not self._read_head():
                return None
        if self._chunks is not None:
            return self._done(b"".join(self._chunks)) if self._read_chunks(self._chunks) else None
        if self._length is None or len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        return self._done(body)

    def end(self) -> Reply | None:
        """The reply that ends with its connection; None where it is cut."""
        if self._headers is None or self._chunks is not None or self._length is not None:
            return None
        return self._done(bytes(self._buffer))

    def _done(self, body: bytes) -> Reply:
        return Reply(self._status, self._headers or {}, body)

    def _read_head(self) -> bool:
        """Read the head of a reply, if it is there; interim replies are skipped."""
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise ValueError("the head is too long")
            return False
        first, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        version, _, rest = first.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise ValueError(f"not a status line: {first[:80]!r}")
        self._status = int(rest[:3])
        if self._status >= 200:
            pairs = (line.partition(b":") for line in lines)
            self._understand({name.strip().lower(): value.strip() for name, _, value in pairs}, version)
        return True

    def _understand(self, headers: dict[bytes, bytes], version: bytes) -> None:
        self._headers = headers
        said = headers.get(b"connection", b"").lower()
        self.keep_alive = b"close" not in said and (version != b"HTTP/1.0" or b"keep-alive" in said)
        if headers.get(b"transfer-encoding", b"").lower().endswith(b"chunked"):
            self._chunks = []
        elif self._status in BODILESS:
            self._length = 0
        elif b"content-length" in headers:
            self._length = int(headers[b"content-length"])
        else:
            self.keep_alive = False

    def _read_chunks(self, chunks: list[bytes]) -> bool:
        """Read all chunks that are there; whether the last was among them."""
        while (line := self._buffer.find(b"\r\n")) >= 0:
            size = int(bytes(self._buffer[:line]).partition(b";")[0], 16)
            if size == 0:
                return self._skip_trailers(line)
            end = line + 2 + size
            if len(self._buffer) < end + 2:
                return False
            chunks.append(bytes(self._buffer[line + 2 : end]))
            del self._buffer[: end + 2]
        return False

    def _skip_trailers(self, line: int) -> bool:
        end = self._buffer.find(b"\r\n\r\n", line)
        if end < 0:
            return False
        del self._buffer[: end + 4]
        return True
