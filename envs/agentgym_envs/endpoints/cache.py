"""Cache of a model's answers by the content of their requests."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from typing import Any

from agentgym_envs.endpoints.records import Endpoint, Said


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
    """The latest answers in memory. Concurrent equal requests share one call; failures are not kept."""

    def __init__(self, size: int = 10_000) -> None:
        self._size = size
        self._answers: OrderedDict[str, Said] = OrderedDict()
        self._asked: dict[str, asyncio.Task[Said]] = {}

    async def get(self, key: str, ask: Callable[[], Awaitable[Said]]) -> tuple[Said, bool]:
        """The answer of this key, and whether it needed no call of `ask`; raises what `ask` raises."""
        if key in self._answers:
            self._answers.move_to_end(key)
            return self._answers[key], True
        task, shared = self._asked.get(key), True
        if task is None:
            task, shared = asyncio.ensure_future(self._first(key, ask)), False
            self._asked[key] = task
            # If every caller is cancelled, nobody is left to take the exception.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        # One waiting caller that is cancelled must not cancel the request of the others.
        return await asyncio.shield(task), shared

    async def _first(self, key: str, ask: Callable[[], Awaitable[Said]]) -> Said:
        try:
            said = await ask()
        finally:
            del self._asked[key]
        self._answers[key] = said
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)
        return said
