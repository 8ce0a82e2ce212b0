"""Transport of a gateway's requests to servers: the interface `Upstream`, and `HttpUpstream` over the
network.

Failures differ in their possible effects: `Undelivered` requests did certainly nothing, `Lost` ones may have
been executed.
"""

import errno
import re
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

import aiohttp
from yarl import URL

from agentgym_server.gateway.routing import Request
from agentgym_server.wire.reply import JSON, Headers, Reply

CONNECT_TIMEOUT_S = 5.0
PRINTABLE = "".join(map(chr, range(0x21, 0x7F))).replace("#", "")
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade", b"content-length"),
    }
)
OURS = HOP_BY_HOP | {b"host", b"origin", b"expect", b"accept-encoding"}
"""Request headers that are not forwarded: those of the connection, and those that the gateway has handled."""
THEIRS = HOP_BY_HOP | {b"content-type", b"x-request-id", b"date", b"server"}
"""Reply headers that are not forwarded, or that a `Reply` holds elsewhere."""


class Undelivered(Exception):
    """The request reached no server; `refused`: no process listens there."""

    def __init__(self, refused: bool = False) -> None:
        super().__init__("refused" if refused else "no connection")
        self.refused = refused


class Lost(Exception):
    """No reply came; the request may have been executed."""


class Refused(Exception):
    """The server refused a WebSocket with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class Closed(Exception):
    """The WebSocket closed; 1006 if it broke."""

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


class Socket(Protocol):
    """One WebSocket to a server."""

    @property
    def subprotocol(self) -> str | None:
        """The subprotocol that the server chose."""
        ...

    async def send(self, message: str | bytes) -> None:
        """Send a frame; raises `Closed`."""
        ...

    async def receive(self) -> str | bytes:
        """The next frame; raises `Closed`."""
        ...

    async def close(self, code: int = 1000) -> None:
        """Close with a handshake; may be called twice."""
        ...


class Upstream(Protocol):
    """Transport of requests to servers by their address."""

    async def send(self, url: str, request: Request) -> Reply:
        """One request and its reply; raises `Undelivered` or `Lost`."""
        ...

    async def connect(self, url: str, request: Request, subprotocols: Sequence[str]) -> Socket:
        """A WebSocket; raises `Undelivered`, `Lost` or `Refused`."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class HttpUpstream:
    """HTTP/1.1 and WebSockets by aiohttp, with as many connections as there are requests."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def send(self, url: str, request: Request) -> Reply:
        """See `Upstream.send`."""
        try:
            async with self._opened().request(
                request.method,
                _address(url, request),
                headers=_forwarded(request.headers),
                data=request.body or None,
                allow_redirects=False,
            ) as response:
                return _reply(response, await response.read())
        except aiohttp.ClientConnectorError as cause:
            raise Undelivered(_nobody_there(cause.os_error)) from None
        except aiohttp.ConnectionTimeoutError:
            raise Undelivered from None
        except (aiohttp.ClientError, OSError) as cause:
            raise Lost(repr(cause)) from None

    async def connect(self, url: str, request: Request, subprotocols: Sequence[str]) -> Socket:
        """See `Upstream.connect`."""
        headers = [pair for pair in request.headers if not pair[0].startswith(b"sec-websocket-")]
        try:
            socket = await self._opened().ws_connect(
                _address(url, request),
                headers=_forwarded(headers),
                protocols=subprotocols,
                max_msg_size=0,
            )
        except aiohttp.WSServerHandshakeError as cause:
            raise Refused(cause.status) from None
        except aiohttp.ClientConnectorError as cause:
            raise Undelivered(_nobody_there(cause.os_error)) from None
        except aiohttp.ConnectionTimeoutError:
            raise Undelivered from None
        except (aiohttp.ClientError, OSError) as cause:
            raise Lost(repr(cause)) from None
        return HttpSocket(socket)

    async def close(self) -> None:
        """See `Upstream.close`."""
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            )
        return self._session


class HttpSocket:
    """WebSocket of aiohttp."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    @property
    def subprotocol(self) -> str | None:
        """See `Socket.subprotocol`."""
        return self._socket.protocol

    async def send(self, message: str | bytes) -> None:
        """See `Socket.send`."""
        try:
            if isinstance(message, str):
                await self._socket.send_str(message)
            else:
                await self._socket.send_bytes(message)
        except (aiohttp.ClientError, OSError):
            raise self._end() from None

    async def receive(self) -> str | bytes:
        """See `Socket.receive`."""
        message = await self._socket.receive()
        if message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            return message.data
        raise self._end()

    async def close(self, code: int = 1000) -> None:
        """See `Socket.close`."""
        await self._socket.close(code=code)

    def _end(self) -> Closed:
        return Closed(self._socket.close_code or 1006)


def target_of(raw_path: bytes, query: bytes) -> str:
    """Path and query as one printable text of equal meaning, whatever bytes a caller sent."""
    target = raw_path + (b"?" + query if query else b"")
    return quote(target, safe=PRINTABLE)


def _address(url: str, request: Request) -> URL:
    return URL(url + request.target, encoded=True)


def _forwarded(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in headers
        if name not in OURS and not CONTROL.search(value)
    ]


def _reply(response: aiohttp.ClientResponse, body: bytes) -> Reply:
    given = [(name.lower(), value) for name, value in response.raw_headers]
    media_type = next(((name, value) for name, value in given if name == b"content-type"), JSON)
    headers: Headers = tuple(pair for pair in given if pair[0] not in THEIRS)
    return Reply(response.status, body, headers, media_type)


def _nobody_there(cause: OSError) -> bool:
    """True if the other side refused the connection; False for a shortage on our side."""
    return isinstance(cause, ConnectionRefusedError) or cause.errno in (
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
    )
