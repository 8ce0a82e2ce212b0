"""WebSocket client without a network, for tests.

> async with LocalSocket(app, "/ws") as socket:
>     await socket.ask({"id": "a", "op": "health"})
"""

import asyncio
import json
from collections.abc import MutableMapping, Sequence
from typing import Any

from starlette.types import ASGIApp

PATIENCE_S = 5.0
Frame = str | bytes | dict[str, Any]
Messages = asyncio.Queue[MutableMapping[str, Any]]


class LocalSocket:
    """Connection to an in-process application, open within `async with`."""

    def __init__(
        self,
        app: ASGIApp,
        path: str,
        headers: dict[str, str] | None = None,
        subprotocols: Sequence[str] = (),
    ) -> None:
        path, _, query = path.partition("?")
        given = {"host": "localhost", **(headers or {})}
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "subprotocols": list(subprotocols),
        }
        self.answer: MutableMapping[str, Any] = {}
        """The application's response to the connect message."""
        self._sent, self._heard = Messages(), Messages()
        self._serve = lambda: app(scope, self._sent.get, self._heard.put)
        self._serving: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "LocalSocket":
        """Connect."""
        self._sent.put_nowait({"type": "websocket.connect"})
        self._serving = asyncio.ensure_future(self._serve())
        self.answer = await self._next()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self.leave()

    async def leave(self) -> None:
        """Disconnect without a close frame, and wait until the application has noticed; may be called
        twice.
        """
        self._sent.put_nowait({"type": "websocket.disconnect", "code": 1006})
        if self._serving is not None:
            await asyncio.wait_for(self._serving, PATIENCE_S)

    def say(self, frame: Frame) -> None:
        """Send a frame: text, bytes, or a value as JSON."""
        if isinstance(frame, bytes):
            self._sent.put_nowait({"type": "websocket.receive", "bytes": frame})
            return
        text = frame if isinstance(frame, str) else json.dumps(frame)
        self._sent.put_nowait({"type": "websocket.receive", "text": text})

    async def hear(self) -> dict[str, Any]:
        """The JSON of the next frame; raises `AssertionError` for anything else."""
        return json.loads((await self._expect("websocket.send"))["text"])

    async def ask(self, frame: Frame) -> dict[str, Any]:
        """Send a frame and return the next one."""
        self.say(frame)
        return await self.hear()

    async def closing(self) -> int:
        """The close code of the application; raises `AssertionError` for anything else."""
        return (await self._expect("websocket.close"))["code"]

    async def _expect(self, kind: str) -> MutableMapping[str, Any]:
        message = await self._next()
        assert message["type"] == kind, message
        return message

    async def _next(self) -> MutableMapping[str, Any]:
        return await asyncio.wait_for(self._heard.get(), PATIENCE_S)
