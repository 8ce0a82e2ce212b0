"""Service discovery: `NAME=URL`, whose host may resolve to several addresses, each a replica.

guess=http://guess:8000     the Compose service `guess`: one address per container
guess=http://127.0.0.1:8001
"""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

RESOLVE_TIMEOUT_S = 5.0


class Source(Protocol):
    """Servers of one configured name."""

    @property
    def name(self) -> str:
        """Configured name."""
        ...

    async def urls(self) -> Sequence[str] | None:
        """Current addresses; None if they are unknown now."""
        ...


class Named:
    """Source with a URL whose host name is resolved repeatedly."""

    def __init__(self, name: str, url: SplitResult) -> None:
        self.name = name
        self._url = url

    async def urls(self) -> Sequence[str] | None:
        """See `Source.urls`."""
        host = self._url.hostname or ""
        if self._url.scheme == "https" or _is_address(host):  # a certificate is issued for the name
            return [self._url.geturl().rstrip("/")]
        try:
            async with asyncio.timeout(RESOLVE_TIMEOUT_S):
                found = await asyncio.to_thread(
                    socket.getaddrinfo, host, self._url.port or 80, type=socket.SOCK_STREAM
                )
        except (OSError, TimeoutError):
            return None
        addresses = dict.fromkeys(str(address[0]) for *_, address in found)
        return [self._at(address) for address in addresses]

    def _at(self, address: str) -> str:
        host = f"[{address}]" if ":" in address else address
        return f"http://{host}:{self._url.port or 80}{self._url.path.rstrip('/')}"


def parsed(text: str) -> Named:
    """A source from `NAME=URL`; raises `ValueError`."""
    name, separator, address = text.partition("=")
    url = urlsplit(address)
    plain = not (url.query or url.fragment or url.username)
    if not (name and separator and url.scheme in ("http", "https") and url.hostname and plain):
        raise ValueError(f"{text!r} is not NAME=URL, for example guess=http://127.0.0.1:8001")
    if url.port == 0:  # raises `ValueError` itself for an invalid port
        raise ValueError(f"{text!r}: a server listens on a port from 1 to 65535")
    return Named(name, url)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
