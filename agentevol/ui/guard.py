"""ASGI middleware that protects the pages.

Requests whose `Host` is no name of this server are refused: a page of another site whose name is made to
resolve to this address (DNS rebinding) cannot read episodes. Only GET is allowed. Every reply
forbids scripts, styles and requests but the server's own.
"""

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentgym_server.settings import is_loopback

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content-Security-Policy of every reply."""
FOREIGN = "The Host header names another server. Open the address that agentevol ui printed.\n"
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """Middleware with the host names of this server."""

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        app = self._refusal(scope) or self._app
        await app(scope, receive, send_protected)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        host = Headers(scope=scope).get("host", "")
        if not is_own_host(host, self._names):
            return PlainTextResponse(FOREIGN, 421)
        if scope["method"] != "GET":
            return PlainTextResponse("These pages are only read.\n", 405, {"allow": "GET"})
        return None


def is_own_host(header: str, names: Collection[str]) -> bool:
    """True for loopback names, `names`, and IP addresses, which no foreign name server controls."""
    try:
        name = urlsplit(f"//{header}").hostname
    except ValueError:
        return False
    return name is not None and (is_loopback(name) or name in names or _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
