"""HTTP transport of the client: the interface `Exchange`, one method.

`HttpxExchange` uses the network, or any transport of httpx; `AsgiExchange` calls an in-process application
directly, at a tenth of the cost.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from agentgym_client.errors import TransportError
from agentgym_client.operations import Header

if TYPE_CHECKING:
    import httpx

Message = MutableMapping[str, Any]
AsgiApp = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


class Reply(NamedTuple):
    """HTTP response; header names are in lower case."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Exchange(Protocol):
    """Transport of one request and its reply; raises `TransportError` if no reply came."""

    async def send(self, method: str, target: str, headers: tuple[Header, ...], body: bytes) -> Reply:
        """Exchange one request: `target` is path and query, `headers` has all but host and length."""
        ...

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        ...


def exchange_for(base_url: str, transport: "httpx.AsyncBaseTransport | None", connections: int) -> Exchange:
    """The fastest exchange for this address and transport."""
    url = urlsplit(base_url)
    if url.scheme not in ("http", "https") or url.hostname is None:
        raise ValueError(f"not an http or https address: {base_url!r}")
    if transport is not None:
        import httpx

        if type(transport) is httpx.ASGITransport:
            return AsgiExchange(transport.app, url)
        return HttpxExchange(base_url, transport, connections)
    return HttpxExchange(base_url, None, connections)


class HttpxExchange:
    """Exchange over httpx."""

    def __init__(self, base_url: str, transport: "httpx.AsyncBaseTransport | None", connections: int) -> None:
        import httpx

        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = httpx.AsyncClient(
            base_url=base_url,
            transport=transport,
            limits=limits,
            timeout=None,
            headers={"accept-encoding": ""},
        )
        self._error = httpx.HTTPError

    async def send(self, method: str, target: str, headers: tuple[Header, ...], body: bytes) -> Reply:
        """See `Exchange.send`."""
        try:
            reply = await self._client.request(method, target, headers=list(headers), content=body or None)
        except self._error as cause:
            raise TransportError(f"{method} {target}: {cause!r}") from cause
        return Reply(
            reply.status_code, {name.lower(): value for name, value in reply.headers.raw}, reply.content
        )

    async def close(self) -> None:
        """Close the pool."""
        await self._client.aclose()


class AsgiExchange:
    """Exchange with an in-process ASGI application."""

    def __init__(self, app: AsgiApp, url: SplitResult) -> None:
        self._app = app
        self._prefix = url.path.rstrip("/")
        self._host = url.netloc.rpartition("@")[2].encode()
        self._server = (url.hostname, url.port)

    async def send(self, method: str, target: str, headers: tuple[Header, ...], body: bytes) -> Reply:
        """See `Exchange.send`; cancelling it cancels the application's response, not the effects of the
        request.
        """
        path, _, query = target.partition("?")
        raw = self._prefix + path
        length = ((b"content-length", b"%d" % len(body)),) if body else ()
        scope: Message = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(raw) if "%" in raw else raw,
            "raw_path": raw.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(b"host", self._host), *headers, *length],
            "client": ("127.0.0.1", 0),
            "server": self._server,
        }
        answer = _Answer(body)
        try:
            await self._app(scope, answer.receive, answer.send)
        except Exception as cause:
            raise TransportError(f"{method} {target}: the application raised {cause!r}") from cause
        if answer.status is None or not answer.complete:
            raise TransportError(f"{method} {target}: the application gave no complete answer")
        return Reply(answer.status, answer.headers, b"".join(answer.pieces))

    async def close(self) -> None:
        """Does nothing."""


class _Answer:
    """The receive and send callables of one ASGI request."""

    __slots__ = ("_body", "complete", "headers", "pieces", "status")

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self.status: int | None = None
        self.headers: dict[bytes, bytes] = {}
        self.pieces: list[bytes] = []
        self.complete = False

    async def receive(self) -> Message:
        """The body, once; then wait until the request is over."""
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Collect the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = dict(message["headers"])
        elif message["type"] == "http.response.body":
            self.pieces.append(message.get("body", b""))
            self.complete = not message.get("more_body", False)
