"""Cache of a model's answers by the content of their requests."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

from agentgym_envs.endpoints.records import Endpoint, Said

Asked = dict[str, "asyncio.Task[Said]"]
"""Calls under way by key."""


def key_of(endpoint: Endpoint, request: Mapping[str, Any], sample: int = 0) -> str:
    """Digest of the address, the model, its sampling and the request; `sample` tells repeated ones apart."""
    content = {
        "url": endpoint.url,
        "model": endpoint.model,
        "temperature": endpoint.temperature,
        "max_tokens": endpoint.max_tokens,
        "request": dict(request),
        "sample": sample,
    }
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class AnswerCache:
    """The latest answers in memory. Equal requests at a time on one event loop share a call; failures are not
    kept.
    """

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._answers: OrderedDict[str, Said] = OrderedDict()
        self._asked: WeakKeyDictionary[asyncio.AbstractEventLoop, Asked] = WeakKeyDictionary()

    async def get(self, key: str, ask: Callable[[], Awaitable[Said]]) -> tuple[Said, bool]:
        """The answer of this key, and whether it needed no call of `ask`; raises what `ask` raises."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key], True
        asked = self._asked.setdefault(asyncio.get_running_loop(), {})
        task, shared = asked.get(key), True
        if task is None:
            task, shared = asyncio.ensure_future(self._first(key, ask, asked)), False
            asked[key] = task
            # If every caller is cancelled, nobody is left to take the exception.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        # One waiting caller that is cancelled must not cancel the request of the others.
        return await asyncio.shield(task), shared

    async def _first(self, key: str, ask: Callable[[], Awaitable[Said]], asked: Asked) -> Said:
        try:
            said = await ask()
        finally:
            del asked[key]
        self._answers[key] = said
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)
        return said


SHARED = AnswerCache()
"""The cache of this process, for all clients that want one."""
