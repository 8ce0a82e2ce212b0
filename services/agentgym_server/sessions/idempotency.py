"""Idempotency cache: a request with the same key and body is executed once and answered every time."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

from agentgym_server.clock import Clock
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import REPLAY, Reply
from agentgym_server.wire.requests import invalid

MAX_KEY_CHARS = 128
Work = Coroutine[Any, Any, Reply]


@dataclass(slots=True)
class Entry:
    """Keyed request and its reply, which may be pending."""

    digest: bytes
    """Digest of the body: another body with the same key is refused."""
    reply: Reply | asyncio.Task[Reply]
    expires_at: float


class Idempotency:
    """Replies by key. A request that fails frees its key: it did nothing, and may be repeated."""

    def __init__(self, clock: Clock, keep_s: float) -> None:
        self._clock = clock
        self._keep_s = keep_s
        self._entries: OrderedDict[tuple[str, str], Entry] = OrderedDict()

    async def once(self, scope: str, key: str | None, body: object, work: Callable[[], Work]) -> Reply:
        """The reply of `work`, which runs only if `key` is new within `scope`; it outlives its caller.

        Raises the problem `idempotency-key-reused` for another body, and any exception of `work`.
        """
        if key is None:
            return await asyncio.shield(asyncio.create_task(work()))
        self._check(key)
        self.purge()
        digest = sha256(strict_json.dump(_sorted(body))).digest()
        entry = self._entries.get((scope, key))
        if entry is None:
            return await self._first((scope, key), digest, work)
        if entry.digest != digest:
            raise Problem("idempotency-key-reused", "this Idempotency-Key came with another body before")
        reply = entry.reply if isinstance(entry.reply, Reply) else await asyncio.shield(entry.reply)
        return reply._replace(headers=reply.headers + REPLAY)

    async def _first(self, name: tuple[str, str], digest: bytes, work: Callable[[], Work]) -> Reply:
        task = asyncio.create_task(work())
        self._entries[name] = Entry(digest, task, self._clock.now() + self._keep_s)
        task.add_done_callback(lambda done: self._settle(name, done))
        return await asyncio.shield(task)

    def _settle(self, name: tuple[str, str], task: asyncio.Task[Reply]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._entries.pop(name, None)
        elif name in self._entries:
            self._entries[name].reply = task.result()

    def purge(self) -> None:
        """Drop old entries."""
        now = self._clock.now()
        while self._entries:
            name, oldest = next(iter(self._entries.items()))
            if oldest.expires_at > now:
                return
            del self._entries[name]

    @staticmethod
    def _check(key: str) -> None:
        if not (0 < len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable()):
            text = f"must have 1 to {MAX_KEY_CHARS} printable ASCII characters"
            raise invalid(("/headers/Idempotency-Key", text))


def _sorted(value: Any) -> Any:
    """The value with the members of its objects in order, so that equal JSON has equal bytes."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _sorted(members[name]) for name in sorted(members)}
    if isinstance(value, list):
        return [_sorted(item) for item in cast("list[Any]", value)]
    return value
