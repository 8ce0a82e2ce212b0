"""Client of one endpoint: `ChatClient`."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from agentgym_envs.endpoints.cache import AnswerCache, key_of
from agentgym_envs.endpoints.connections import Connections, connections
from agentgym_envs.endpoints.figures import Figures
from agentgym_envs.endpoints.records import Completion, Endpoint, EndpointFault, Said
from agentgym_envs.endpoints.retries import Unanswered, asked_for, may_succeed, pause_s

if TYPE_CHECKING:
    import httpx

ValueT = TypeVar("ValueT")
Message = Mapping[str, Any]


class ChatClient:
    """Requests to one endpoint, with their number, tokens and time.

    `role` and `fault` name the endpoint's part in an episode and its exception. `transport` is a seam for
    tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        role: str,
        fault: type[EndpointFault],
        cache: AnswerCache | None = None,
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self.endpoint = endpoint
        self._role = role
        self._fault = fault
        self._cache = cache
        self._transport = transport
        self._figures = Figures()

    async def complete(
        self,
        request: Mapping[str, Any],
        read: Callable[[Said], ValueT],
        *,
        repair: Callable[[str, str], Sequence[Message]] | None = None,
        sample: int = 0,
    ) -> ValueT:
        """What `read` makes of the answer, with bounded retries; `read` raises the fault for a useless one.

        `request` is all but the model and its sampling. After a useless answer, `repair` of that answer and
        the reason gives messages that follow those of the request. A cached answer is one of the same
        `sample`. Raises the fault of this client.
        """
        if self._cache is None:
            return read(await self._usable(request, read, repair))
        key = key_of(self.endpoint, request, sample)
        said, cached = await self._cache.get(key, lambda: self._usable(request, read, repair))
        self._figures.cached += cached
        return read(said)

    def copied(self) -> "ChatClient":
        """A client that counts on from here."""
        other = copy(self)
        other._figures = copy(self._figures)
        return other

    def figures(self) -> dict[str, Any]:
        """Model, and figures of the requests so far."""
        return self._figures.of(self.endpoint)

    async def _usable(
        self,
        request: Mapping[str, Any],
        read: Callable[[Said], object],
        repair: Callable[[str, str], Sequence[Message]] | None,
    ) -> Said:
        """An answer that `read` accepts."""
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
                    read(said)
                except self._fault as useless:
                    reason = str(useless)
                    repairs = repair(said.content or "", reason) if repair else ()
                else:
                    return said
            if attempt + 1 < attempts:
                await asyncio.sleep(pause_s(attempt) if wait_s is None else wait_s)
        raise self._fault(f"the {self._role}'s endpoint failed {attempts} times; the last: {reason}")

    async def _timed(self, request: Mapping[str, Any]) -> Said:
        started = time.perf_counter()
        self._figures.requests += 1
        try:
            completion = await self._requested(request)
        finally:
            self._figures.latency_s += time.perf_counter() - started
        self._figures.add(completion, len(json.dumps(request["messages"])))
        return completion.said

    async def _requested(self, request: Mapping[str, Any]) -> Completion:
        url = self.endpoint.url
        response = await self._posted(request)
        if not response.is_success:
            raise Unanswered(
                f"{url} answered with the status {response.status_code}: {response.text[:200]}",
                again=may_succeed(response.status_code),
                wait_s=asked_for(response.headers),
            )
        try:
            return Completion.model_validate_json(response.content)
        except ValidationError:
            raise Unanswered(
                f"{url} answered with no chat completion: {response.text[:200]}", again=True
            ) from None

    async def _posted(self, request: Mapping[str, Any]) -> "httpx.Response":
        httpx = self._httpx()
        pool: Connections = connections(self.endpoint, self._transport)
        key = os.environ.get(self.endpoint.api_key_env)
        body = {
            "model": self.endpoint.model,
            "temperature": self.endpoint.temperature,
            "max_tokens": self.endpoint.max_tokens,
            **request,
        }
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            # httpx limits each read alone: an endpoint that drips would hold the episode.
            async with pool.free, asyncio.timeout(self.endpoint.timeout_s):
                return await pool.client.post(self.endpoint.url, json=body, headers=headers)
        except TimeoutError:
            reason = f"{self.endpoint.url}: no answer within {self.endpoint.timeout_s:g} s"
            raise Unanswered(reason, again=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as cause:
            reason = f"{self.endpoint.url}: {type(cause).__name__}: {cause}"
            raise Unanswered(reason, again=not isinstance(cause, httpx.InvalidURL)) from cause

    def _httpx(self) -> Any:
        try:
            import httpx
        except ModuleNotFoundError as cause:
            raise self._fault(f"the {self._role}'s endpoint needs httpx: pip install httpx") from cause
        return httpx
