"""Client of one endpoint: `ChatClient`."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from agentgym_envs.endpoints.budget import Budget
from agentgym_envs.endpoints.cache import AnswerCache, key_of
from agentgym_envs.endpoints.connections import Connections, connections
from agentgym_envs.endpoints.figures import Figures
from agentgym_envs.endpoints.records import Completion, Endpoint, EndpointFault, Said
from agentgym_envs.endpoints.retries import Unanswered, asked_for, may_succeed, pause_s

if TYPE_CHECKING:
    import httpx

ValueT = TypeVar("ValueT")
Message = Mapping[str, Any]
MOST_BYTES: Final = 8 << 20
"""The longest answer that is read: a longer one is no completion, and would fill the memory."""


@dataclass(frozen=True)
class Reply:
    """HTTP answer of an endpoint."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class ChatClient:
    """Requests to one endpoint, with their number, tokens and time.

    `role` and `fault` name the endpoint's part in an episode and its exception. `total` counts the requests
    of several clients. Once the `budget` is spent no request is made, and the fault says so. `transport` is
    a seam for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        role: str,
        fault: type[EndpointFault],
        cache: AnswerCache | None = None,
        total: Figures | None = None,
        budget: Budget | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self.endpoint = endpoint
        self._role = role
        self._fault = fault
        self._cache = cache
        self._transport = transport
        self._figures = Figures()
        self._budget = budget
        self._failure = ""
        """Reason for which the latest attempt failed; empty after a usable answer."""
        spent = None if budget is None else budget.figures(endpoint)
        self._totals = tuple(one for one in (total, spent) if one is not None)

    async def complete(
        self,
        request: Mapping[str, Any],
        read: Callable[[Said], ValueT],
        *,
        repair: Callable[[str, str], Sequence[Message]] | None = None,
        sample: int = 0,
    ) -> ValueT:
        """Result of `read` for the answer, with bounded retries; `read` raises the fault for a useless one.

        `request` is all but the model and its sampling. After a useless answer, `repair` of that answer and
        the reason gives messages that follow those of the request. A cached answer is one of the same
        `sample`. Raises the fault of this client.
        """
        if self._cache is None:
            return (await self._usable(request, read, repair))[1]
        fresh: list[ValueT] = []

        async def ask() -> Said:
            said, value = await self._usable(request, read, repair)
            fresh.append(value)
            return said

        said, cached = await self._cache.get(key_of(self.endpoint, request, sample), ask)
        for figures in self._counted():
            figures.cached += cached
        return fresh[0] if fresh else read(said)

    def copied(self) -> "ChatClient":
        """A client that counts on from here."""
        other = copy(self)
        other._figures = copy(self._figures)
        return other

    @property
    def failing(self) -> str:
        """End of a message that nothing usable came in time: the latest failure, or nothing."""
        return f"; the latest failure: {self._failure}" if self._failure else ""

    @property
    def counted(self) -> Figures:
        """Figures of the requests so far."""
        return self._figures

    def figures(self) -> dict[str, Any]:
        """Model, and figures of the requests so far, as JSON."""
        return self._figures.of(self.endpoint)

    async def _usable(
        self,
        request: Mapping[str, Any],
        read: Callable[[Said], ValueT],
        repair: Callable[[str, str], Sequence[Message]] | None,
    ) -> tuple[Said, ValueT]:
        """An answer that `read` accepts, and what it makes of it."""
        reason, attempts = "", self.endpoint.retries + 1
        repairs: Sequence[Message] = ()
        for attempt in range(attempts):
            wait_s = None
            try:
                said = await self._timed({**request, "messages": [*request["messages"], *repairs]})
            except Unanswered as failure:
                if not failure.again:
                    raise self._fault(str(failure)) from None
                reason, wait_s = str(failure), failure.wait_s
            else:
                try:
                    value = read(said)
                except self._fault as useless:
                    reason = str(useless)
                    repairs = repair(said.content or "", reason) if repair else ()
                else:
                    self._failure = ""
                    return said, value
            self._failure = reason
            if attempt + 1 < attempts:
                await asyncio.sleep(pause_s(attempt) if wait_s is None else wait_s)
        raise self._fault(f"the {self._role}'s endpoint failed {attempts} times; the last: {reason}")

    async def _timed(self, request: Mapping[str, Any]) -> Said:
        started = time.perf_counter()
        try:
            completion = await self._requested(request)
        finally:
            for figures in self._counted():
                figures.latency_s += time.perf_counter() - started
        read = 0 if completion.usage is not None else len(json.dumps(request["messages"]))
        for figures in self._counted():
            figures.add(completion, read)
        return completion.said

    def _counted(self) -> tuple[Figures, ...]:
        return (self._figures, *self._totals)

    async def _requested(self, request: Mapping[str, Any]) -> Completion:
        url = self.endpoint.shown_url
        reply = await self._posted(request)
        if not 200 <= reply.status < 300:
            raise Unanswered(
                f"{url} answered with the status {reply.status}: {self._told(reply)}",
                again=may_succeed(reply.status),
                wait_s=asked_for(reply.headers),
            )
        try:
            return Completion.model_validate_json(reply.content)
        except ValidationError:
            raise Unanswered(
                f"{url} answered with no chat completion: {self._told(reply)}", again=True
            ) from None

    def _told(self, reply: Reply) -> str:
        """The beginning of an answer for error messages, which never hold the key."""
        if reply.status in (401, 403):
            return "it refuses the key"  # what it says of a key may show parts of it
        text, key = reply.content.decode(errors="replace"), self._key()
        return (text.replace(key, "***") if key else text)[:200]

    def _key(self) -> str:
        variable = self.endpoint.api_key_env
        key = os.environ.get(variable, "").strip()
        if not key.isascii() or not key.isprintable():  # an exception about the header would show it
            raise self._fault(f"the environment variable {variable} holds no key: it has other signs")
        return key

    async def _posted(self, request: Mapping[str, Any]) -> Reply:
        httpx = self._httpx()
        pool: Connections = connections(self.endpoint, self._transport)
        key = self._key()
        body = {
            "model": self.endpoint.model,
            "temperature": self.endpoint.temperature,
            "max_tokens": self.endpoint.max_tokens,
            **request,
        }
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            # httpx limits each read alone: an endpoint that drips would hold the episode.
            async with pool.client() as http, asyncio.timeout(self.endpoint.timeout_s):
                self._check_budget()  # a request may have waited for its connection while others spent
                for figures in self._counted():
                    figures.requests += 1
                async with http.stream("POST", self.endpoint.url, json=body, headers=headers) as response:
                    return Reply(response.status_code, response.headers, await self._read(response))
        except TimeoutError:
            reason = f"{self.endpoint.shown_url}: no answer within {self.endpoint.timeout_s:g} s"
            raise Unanswered(reason, again=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as cause:
            reason = f"{self.endpoint.shown_url}: {type(cause).__name__}: {cause}"
            raise Unanswered(reason, again=not isinstance(cause, httpx.InvalidURL)) from cause

    async def _read(self, response: "httpx.Response") -> bytes:
        """The content of an answer. Raises `Unanswered` for one of more than `MOST_BYTES`."""
        content = bytearray()
        async for part in response.aiter_bytes():
            content += part
            if len(content) > MOST_BYTES:
                reason = f"{self.endpoint.shown_url} answered with more than {MOST_BYTES >> 20} MiB"
                raise Unanswered(reason, again=True)
        return bytes(content)

    def _check_budget(self) -> None:
        if self._budget is not None and self._budget.is_spent:
            raise self._fault(f"the budget of {self._budget} is spent")

    def _httpx(self) -> Any:
        try:
            import httpx
        except ModuleNotFoundError as cause:
            raise self._fault(f"the {self._role}'s endpoint needs httpx: pip install httpx") from cause
        return httpx
