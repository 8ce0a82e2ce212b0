"""Caches of a model's answers by the content of their requests: `AnswerCache`, `StoredCache`."""

import asyncio
import json
import os
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import ValidationError

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
        self._callers: Counter[asyncio.Task[Said]] = Counter()

    async def get(self, key: str, ask: Callable[[], Awaitable[Said]]) -> tuple[Said, bool]:
        """The answer of this key, and whether it needed no call of `ask`; raises what `ask` raises.

        The call is cancelled with the last of its callers.
        """
        if (known := self._known(key)) is not None:
            return known, True
        asked = self._asked.setdefault(asyncio.get_running_loop(), {})
        task, shared = asked.get(key), True
        if task is None:
            task, shared = asyncio.ensure_future(self._first(key, ask, asked)), False
            asked[key] = task
            # If every caller is cancelled, nobody is left to take the exception.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._callers[task] += 1
        try:
            # One waiting caller that is cancelled must not cancel the request of the others.
            return await asyncio.shield(task), shared
        finally:
            self._left(key, task, asked)

    def _known(self, key: str) -> Said | None:
        """The answer in memory."""
        if key not in self._answers:
            return None
        self._answers.move_to_end(key)
        return self._answers[key]

    def _keep(self, key: str, said: Said) -> None:
        self._answers[key] = said
        if len(self._answers) > self._size:
            self._answers.popitem(last=False)

    def _left(self, key: str, task: "asyncio.Task[Said]", asked: Asked) -> None:
        self._callers[task] -= 1
        if self._callers[task]:
            return
        del self._callers[task]
        if not task.done():
            _forget(key, task, asked)  # a caller that comes before it has ended begins another call
            task.cancel()

    async def _first(self, key: str, ask: Callable[[], Awaitable[Said]], asked: Asked) -> Said:
        task = asyncio.current_task()
        try:
            said = await ask()
        finally:
            _forget(key, task, asked)
        self._keep(key, said)
        return said


class StoredCache(AnswerCache):
    """Answers in memory, and for later processes in a folder: a file for each, named by its key."""

    def __init__(self, folder: Path, size: int = 10_000) -> None:
        super().__init__(size)
        self._folder = folder

    def _known(self, key: str) -> Said | None:
        said = super()._known(key)
        if said is not None:
            return said
        try:
            said = Said.model_validate_json(self._file(key).read_bytes())
        except (OSError, ValidationError):  # none, or one that was cut off: it is asked for again
            return None
        super()._keep(key, said)
        return said

    def _keep(self, key: str, said: Said) -> None:
        super()._keep(key, said)
        file = self._file(key)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        with suppress(OSError):  # a full disk costs a later call, and not this answer
            file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(said.model_dump_json(), encoding="utf-8")
            draft.replace(file)

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


SHARED = AnswerCache()
"""The cache of this process, for all clients that want one."""


def _forget(key: str, task: "asyncio.Task[Said] | None", asked: Asked) -> None:
    if asked.get(key) is task:
        del asked[key]
