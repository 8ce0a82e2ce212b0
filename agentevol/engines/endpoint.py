"""HTTP client for JSON endpoints of third parties, with retries, deadlines and typed faults.

An unreachable endpoint is tried again with growing waits until `patience_s` is used up; a busy one (429, 503
and similar) is tried again as its answer asks, until the request's own deadline. A request is repeated only
where it had no effect; our requests are such that a second answer is as good as the first.

The key is sent and never shown: no error message holds it, nor the endpoint's own text about it.
"""

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Set
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any

import httpx

from agentevol.core.errors import ConfigError, PolicyFault

BUSY = frozenset({429, 502, 503, 504})
"""Statuses of an endpoint, or of a proxy before it, after which a retry may succeed."""
PATIENCE_S = 120.0
CONNECT_S = 10.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.25, 15.0
LONGEST_COMPLAINT = 300
LARGEST_ANSWER = 64 * 2**20
"""Maximum size of an answer in bytes."""


class EndpointFault(PolicyFault):
    """An endpoint gave no usable answer."""


class Unreachable(EndpointFault):
    """The endpoint could not be reached within `patience_s`."""


class TooLate(EndpointFault):
    """No answer before the request's deadline."""


class Garbled(EndpointFault):
    """An answer in an unexpected format."""


class Refused(EndpointFault):
    """An error answer; `status` is HTTP's."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def key_from(variable: str | None) -> str | None:
    """Return the key in an environment variable; None for no variable. Raises `ConfigError`, which does not
    show the key.
    """
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(
            f"the environment variable {variable} is not set: it has to hold the endpoint's key"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigError(f"the environment variable {variable} holds no key: it has spaces or other signs")
    return key


class Endpoint:
    """Requests to one base URL. `transport` and `pause` are seams for tests: no socket, no waiting."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        connections: int = 64,
        patience_s: float = PATIENCE_S,
        busy: Set[int] = BUSY,
        transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.url = url
        self.connected = 0
        """Number of connections opened so far: a new connection may reach another server."""
        self._key, self._patience_s, self._busy, self._pause = key, patience_s, busy, pause
        self._client = httpx.AsyncClient(
            base_url=url,
            transport=transport,
            limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
            headers={} if key is None else {"authorization": f"Bearer {key}"},
        )

    async def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the JSON of the answer, None for an empty one. Raises an `EndpointFault`."""
        doing, left, away = f"{method} {self.url}{path}", timeout_s, 0.0
        for attempt in count():
            began = time.monotonic()
            reply = await self._tried(doing, method, path, body, headers, left)
            if isinstance(reply, httpx.Response) and not self._comes_later(reply):
                return self._answer(doing, reply)
            gone = isinstance(reply, httpx.RequestError)
            wait = _growing(attempt) if gone else _asked_for(reply) or _growing(attempt)
            spent = time.monotonic() - began + wait
            away, left = away + spent if gone else 0.0, left - spent
            if gone and (away > self._patience_s or left <= 0):
                raise Unreachable(f"{doing}: {self._shown(str(reply) or repr(reply))}") from reply
            if not gone and left <= 0:
                raise self._refusal(doing, reply)
            await self._pause(wait)
        raise AssertionError  # `count` does not end

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _tried(
        self,
        doing: str,
        method: str,
        path: str,
        body: object,
        headers: Mapping[str, str] | None,
        left_s: float,
    ) -> httpx.Response | httpx.RequestError:
        """Return the whole answer, or the error of a failed connection. Raises `TooLate` and `Garbled`."""
        try:
            return await self._sent(doing, method, path, body, headers, left_s)
        except (httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout) as cause:
            raise TooLate(f"{doing}: no answer in time") from cause
        except httpx.TransportError as cause:
            return cause
        except httpx.RequestError as cause:
            raise Garbled(f"{doing}: {self._shown(repr(cause))}") from cause

    async def _sent(
        self,
        doing: str,
        method: str,
        path: str,
        body: object,
        headers: Mapping[str, str] | None,
        left_s: float,
    ) -> httpx.Response:
        timeout = httpx.Timeout(left_s, connect=min(CONNECT_S, left_s))
        async with self._client.stream(
            method,
            path,
            json=body,
            headers=headers,
            timeout=timeout,
            extensions={"trace": self._note},
        ) as response:
            content = bytearray()
            async for part in response.aiter_bytes():
                content += part
                if len(content) > LARGEST_ANSWER:
                    raise Garbled(f"{doing}: more than {LARGEST_ANSWER} bytes")
        return httpx.Response(response.status_code, headers=_kept(response.headers), content=bytes(content))

    async def _note(self, event: str, _: object) -> None:
        if event.startswith("connection.connect_") and event.endswith(".complete"):
            self.connected += 1

    def _comes_later(self, response: httpx.Response) -> bool:
        """Return whether to retry. An exhausted quota has the status of a rate limit, but no retry helps."""
        return response.status_code in self._busy and b"insufficient_quota" not in response.content

    def _answer(self, doing: str, response: httpx.Response) -> Any:
        if not response.is_success:
            raise self._refusal(doing, response)
        if not response.content:
            return None
        try:
            return json.loads(response.content)
        except ValueError as cause:
            raise Garbled(f"{doing}: no JSON: {self._shown(response.text[:100])!r}") from cause

    def _refusal(self, doing: str, response: httpx.Response) -> Refused:
        status = response.status_code
        # the endpoint's text about a key may show parts of it
        said = "it refuses the key" if status in (401, 403) else self._shown(complaint(response))
        return Refused(status, f"{doing}: {status} {said}")

    def _shown(self, text: str) -> str:
        """Text in one line, with the key removed."""
        line = " ".join((text if self._key is None else text.replace(self._key, "***")).split())
        return line if len(line) <= LONGEST_COMPLAINT else line[: LONGEST_COMPLAINT - 1] + "…"


def complaint(response: httpx.Response) -> str:
    """Message of an error's body, in the common formats; else the beginning of the body."""
    try:
        body = json.loads(response.content)
    except ValueError:
        return response.text[:300] or response.reason_phrase
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        code = error.get("code")
        error = error.get("message") or error.get("detail") or error
        if isinstance(code, str) and isinstance(error, str):
            error = f"{error} ({code})"
    return error if isinstance(error, str) else json.dumps(error)


def _growing(attempt: int) -> float:
    """Seconds to wait before a retry, with jitter so that many clients do not return at once."""
    return min(FIRST_WAIT_S * 2 ** min(attempt, 10), LONGEST_WAIT_S) * random.uniform(0.75, 1.0)


def _asked_for(response: httpx.Response) -> float | None:
    """Seconds of the header Retry-After, given as a number or a date (RFC 9110, 10.2.3)."""
    value = response.headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return seconds if 0 < seconds < float("inf") else None


def _kept(headers: httpx.Headers) -> dict[str, str]:
    """Headers without those that describe the body's encoding: the body is decoded by now."""
    apart = ("content-encoding", "content-length", "transfer-encoding")
    return {name: value for name, value in headers.items() if name not in apart}
