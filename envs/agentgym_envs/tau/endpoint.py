"""OpenAI-compatible endpoint of a simulated user or a judge: `Endpoint`, `ChatClient`. Needs httpx.

A request that fails, or whose answer cannot be used, is repeated a bounded number of times. Then it is an
`EndpointFault`: the episode fails, and is no reward.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

from pydantic import Field, StringConstraints, ValidationError

from agentgym_envs.core import Record

if TYPE_CHECKING:
    import httpx

ValueT = TypeVar("ValueT")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
"""Pauses between attempts, each twice the one before."""


class EndpointFault(RuntimeError):
    """An endpoint gave no usable answer: the episode fails, and is no reward."""


class Endpoint(Record):
    """Address and sampling of a model behind an endpoint."""

    base_url: Annotated[str, StringConstraints(pattern=r"^https?://")]
    """For example `http://127.0.0.1:8000/v1`."""
    model: str
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, ge=1)
    timeout_s: float = Field(default=60.0, gt=0)
    """Limit of one request."""
    retries: int = Field(default=2, ge=0, le=10)
    """Further attempts after a failed request."""
    api_key_env: str = "OPENAI_API_KEY"
    """Environment variable with the key; none is sent where it is not set."""

    @classmethod
    def of(cls, given: "Self | Mapping[str, Any] | str") -> Self:
        """The endpoint of a record, of a table (`--option`), or of a JSON object as text (settings of a run).

        Raises `ValueError`, in one line.
        """
        if isinstance(given, cls):
            return given
        try:
            return cls.model_validate_json(given) if isinstance(given, str) else cls.model_validate(given)
        except ValidationError as cause:
            first = cause.errors()[0]
            place = ".".join(map(str, first["loc"])) or "value"
            raise ValueError(f"{cls.__name__}: {place}: {first['msg']}") from None


class Function(Record, extra="ignore"):
    """Function that a model calls, as its answer tells it."""

    name: str
    arguments: str = "{}"


class ToolCall(Record, extra="ignore"):
    """Tool call of a model's answer."""

    id: str = ""
    function: Function


class Said(Record, extra="ignore"):
    """Message of a model's answer."""

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None


class _Choice(Record, extra="ignore"):
    message: Said


class _Usage(Record, extra="ignore"):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Completion(Record, extra="ignore"):
    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: _Usage | None = None


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
        transport: "httpx.AsyncBaseTransport | None" = None,
    ) -> None:
        self.endpoint = endpoint
        self._role = role
        self._fault = fault
        self._transport = transport
        self._requests = 0
        self._prompt_tokens = 0
        self._completion_tokens = 0
        self._latency_s = 0.0

    async def complete(self, request: Mapping[str, Any], read: Callable[[Said], ValueT]) -> ValueT:
        """What `read` makes of the answer, with bounded retries; `read` raises the fault for a useless one.

        `request` is all but the model and its sampling. Raises the fault of this client.
        """
        reason, attempts = "", self.endpoint.retries + 1
        for attempt in range(attempts):
            started = time.perf_counter()
            try:
                return read(await self._requested(request))
            except self._fault as fault:
                reason = str(fault)
            finally:
                self._latency_s += time.perf_counter() - started
            if attempt + 1 < attempts:
                await asyncio.sleep(min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S))
        raise self._fault(f"the {self._role}'s endpoint failed {attempts} times; the last: {reason}")

    def copied(self) -> "ChatClient":
        """A client that counts on from here."""
        return copy(self)

    def figures(self) -> dict[str, Any]:
        """Model, and figures of the requests so far."""
        return {
            "model": self.endpoint.model,
            "temperature": self.endpoint.temperature,
            "requests": self._requests,
            "prompt_tokens": self._prompt_tokens,
            "completion_tokens": self._completion_tokens,
            "latency_s": round(self._latency_s, 3),
        }

    async def _requested(self, request: Mapping[str, Any]) -> Said:
        self._requests += 1
        url = f"{self.endpoint.base_url.rstrip('/')}/chat/completions"
        response = await self._posted(url, request)
        if not response.is_success:
            raise self._fault(f"{url} answered with the status {response.status_code}: {response.text[:200]}")
        try:
            found = _Completion.model_validate_json(response.content)
        except ValidationError:
            raise self._fault(f"{url} answered with no chat completion: {response.text[:200]}") from None
        if found.usage is not None:
            self._prompt_tokens += found.usage.prompt_tokens
            self._completion_tokens += found.usage.completion_tokens
        return found.choices[0].message

    async def _posted(self, url: str, request: Mapping[str, Any]) -> "httpx.Response":
        httpx = self._httpx()
        key = os.environ.get(self.endpoint.api_key_env)
        body = {
            "model": self.endpoint.model,
            "temperature": self.endpoint.temperature,
            "max_tokens": self.endpoint.max_tokens,
            **request,
        }
        try:
            # httpx limits each read alone: an endpoint that drips would hold the episode.
            async with (
                asyncio.timeout(self.endpoint.timeout_s),
                httpx.AsyncClient(
                    timeout=None,
                    transport=self._transport,
                    headers={"Authorization": f"Bearer {key}"} if key else {},
                ) as client,
            ):
                return await client.post(url, json=body)
        except TimeoutError:
            raise self._fault(f"{url}: no answer within {self.endpoint.timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as cause:
            raise self._fault(f"{url}: {type(cause).__name__}: {cause}") from cause

    def _httpx(self) -> Any:
        try:
            import httpx
        except ModuleNotFoundError as cause:
            raise self._fault(f"the {self._role}'s endpoint needs httpx: pip install httpx") from cause
        return httpx
