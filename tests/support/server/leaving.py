"""Callers of a server that hang up before it has answered."""

import asyncio
from typing import Any


class LeavingCaller:
    """Caller of an ASGI application that posts a body in parts, and hangs up."""

    def __init__(self, path: str, *parts: bytes) -> None:
        self.scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "scheme": "http",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        }
        self.sent: list[Any] = []
        """Messages that the application has sent."""
        self._parts = list(parts)
        self._leaves = asyncio.Event()

    def hang_up(self) -> None:
        """Disconnect once the body has been read."""
        self._leaves.set()

    async def call(self, app: Any) -> None:
        """Make the call; returns when the application does."""
        await app(self.scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        if self._parts:
            body = self._parts.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self._parts)}
        await self._leaves.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
