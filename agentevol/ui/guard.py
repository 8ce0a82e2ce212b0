"""ASGI middleware that protects the pages.

Requests whose `Host` is no name of this server are refused: a page of another site whose name is made to
resolve to this address (DNS rebinding) cannot read episodes. So are forms that a page of another site sends
here (cross-site request forgery): browsers name the origin of every POST. Every reply forbids scripts, styles
and requests but the server's own.
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
FORGED = "This form was sent by a page of another site.\n"
READ_ONLY = "These pages are only read: agentevol ui was started with --read-only.\n"
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # no-referrer would take the origin from our own forms
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Guard:
    """Middleware with the host names of this server; `read_only` refuses everything but GET."""

    def __init__(self, app: ASGIApp, names: Collection[str] = (), *, read_only: bool = False) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names)
        self._methods = ("GET",) if read_only else ("GET", "POST")

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
        headers, method = Headers(scope=scope), scope["method"]
        if not is_own_host(headers.get("host", ""), self._names):
            return PlainTextResponse(FOREIGN, 421)
        if method not in self._methods:
            told = READ_ONLY if method == "POST" else f"There is no {method} here.\n"
            return PlainTextResponse(told, 405, {"allow": ", ".join(self._methods)})
        if method == "POST" and not is_own_form(headers):
            return PlainTextResponse(FORGED, 403)
        return None


def is_own_form(headers: Headers) -> bool:
    """True for a POST by a page of this server, or by a program that is no browser, which names no origin."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


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
