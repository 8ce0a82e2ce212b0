"""Authentication: tokens and their scopes; on loopback, the check against DNS rebinding."""

import base64
import binascii
import hmac
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from agentgym_server.settings import ServerSettings, is_loopback
from agentgym_server.wire.problems import Problem

Scope = Literal["agent", "trainer", "admin"]
RANKS: dict[Scope, int] = {"agent": 0, "trainer": 1, "admin": 2}
CHALLENGE = ((b"www-authenticate", b'Bearer realm="agentevol"'),)
Headers = Mapping[bytes, bytes]


class Guard:
    """Authenticator of requests, by their headers."""

    def __init__(self, settings: ServerSettings) -> None:
        tokens: dict[Scope, str | None] = {
            "admin": settings.token,
            "trainer": settings.trainer_token,
            "agent": settings.agent_token,
        }
        self._tokens: list[tuple[bytes, Scope]] = [
            (token.encode(), scope) for scope, token in tokens.items() if token
        ]
        self._check_host = settings.loopback
        self._names = frozenset(name.lower() for name in settings.allowed_hosts)
        self._good_hosts: set[bytes] = set()

    def check_origin(self, headers: Headers) -> None:
        """Refuse a foreign `Host` or `Origin` on loopback; raises `forbidden-origin`."""
        if not self._check_host:
            return
        host = headers.get(b"host", b"")
        if host not in self._good_hosts:
            if not self._known(f"//{host.decode('latin-1')}"):
                raise Problem("forbidden-origin", "the Host header names another host than this one")
            if len(self._good_hosts) < 64:
                self._good_hosts.add(host)
        origin = headers.get(b"origin")
        if origin is not None and not self._known(origin.decode("latin-1")):
            raise Problem("forbidden-origin", "the Origin header names another site than this one")

    def scope(self, headers: Headers) -> Scope | None:
        """The scope of the caller's token, `admin` without authentication, None for an unauthenticated
        caller.
        """
        if not self._tokens:
            return "admin"
        given = _token(headers.get(b"authorization", b""))
        found: Scope | None = None
        for token, scope in self._tokens:  # all of them, so that the time is constant
            if hmac.compare_digest(token, given):
                found = scope
        return found

    def _known(self, url: str) -> bool:
        try:
            name = urlsplit(url).hostname
        except ValueError:
            return False
        return name is not None and (is_loopback(name) or name in self._names)


def unauthorized() -> Problem:
    """The problem of a caller without a valid token."""
    problem = Problem("unauthorized", "a valid token is needed: Authorization: Bearer TOKEN")
    problem.headers = CHALLENGE
    return problem


def _token(header: bytes) -> bytes:
    kind, _, value = header.partition(b" ")
    if kind.lower() == b"bearer":
        return value.strip()
    if kind.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(value.strip(), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
