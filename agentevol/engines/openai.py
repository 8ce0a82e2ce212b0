"""Policies behind an OpenAI-compatible endpoint: closed models, teachers, any server of chat completions.

    POST /chat/completions {"model": "NAME", "messages": [{"role": "user", "content": "..."}], "seed": 7, ...}
    {"choices": [{"message": {"content": "go north"}, "finish_reason": "stop"}],
     "usage": {"prompt_tokens": 31, "completion_tokens": 3}}

The base URL and key are in `OPENAI_BASE_URL` and `OPENAI_API_KEY`. Such an endpoint returns no token ids, so
its samples are text alone, as those of scripted policies: they cannot be trained on token by token. Seeds are
sent; whether equal seeds give equal answers is up to the endpoint.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from agentevol.config.urls import DEFAULT_URL, KEY_VARIABLE, URL_VARIABLE, check_url
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import ContextFull, Conversation, Message, Sampling
from agentevol.engines.endpoint import BUSY, Endpoint, EndpointFault, Garbled, Refused, key_from
from agentevol.engines.scripted import said
from agentgym_store.records import Sample

PREFIX = "openai:"
ACT_S = 280.0
"""Seconds for an answer, waits included: a bit less than an episode waits for its policy."""
LATER = BUSY | {408, 500, 529}
"""Statuses after which such endpoints are asked again."""
MAX_NEW_TOKENS = 1024
"""Default maximum tokens of an answer: reasoning models need more than an action has."""


@dataclass
class Usage:
    """Token usage as the endpoint reports it."""

    requests: int = 0
    unreported: int = 0
    """Requests whose usage the endpoint did not report."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    completion_tokens_of: Counter[str] = field(default_factory=Counter[str])
    """Completion tokens by conversation."""

    def add(self, conversation_id: str, told: Any) -> None:
        """Count one answer; `told` is its entry `usage`."""
        self.requests += 1
        try:
            read, sampled = int(told["prompt_tokens"]), int(told["completion_tokens"])
        except (KeyError, TypeError, ValueError):
            self.unreported += 1
            return
        self.prompt_tokens += read
        self.completion_tokens += sampled
        self.completion_tokens_of[conversation_id] += sampled

    def figures(self) -> dict[str, int]:
        """The counts as a dictionary, for machine-readable output."""
        names = ("requests", "unreported", "prompt_tokens", "completion_tokens")
        return {name: getattr(self, name) for name in names}

    def text(self) -> str:
        """The counts in one line of text."""
        told = f"{self.prompt_tokens:,} prompt tokens, {self.completion_tokens:,} completion tokens"
        missing = f"; no usage reported for {self.unreported}" if self.unreported else ""
        return f"usage: {self.requests:,} requests, {told}{missing}"


class OpenAIPolicy:
    """A model by its name at an endpoint; its version is 0. `transport` and `pause` are seams for tests."""

    version = 0

    def __init__(
        self,
        name: str,
        sampling: Sampling,
        *,
        url: str = DEFAULT_URL,
        key: str | None = None,
        connections: int = 64,
        transport: httpx.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.name = name
        self.usage = Usage()
        self._sampling = sampling
        self._limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
        self._endpoint = Endpoint(
            url, key, connections=connections, busy=LATER, transport=transport, pause=pause
        )

    async def check(self) -> None:
        """Request a first answer. Raises `ConfigError` with the reason where there is none."""
        try:
            answer = await self._answered([Message("user", "Say yes.")])
            self.usage.add("", answer.get("usage"))
        except Refused as cause:
            raise ConfigError(_hint(cause, self.name)) from cause
        except EndpointFault as cause:
            raise ConfigError(f"{cause}; {URL_VARIABLE} sets the endpoint's address") from cause

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next action. Raises `ContextFull`, and `PolicyFault` where the answer is not usable."""
        try:
            answer = await self._answered(conversation.messages, seed)
        except Refused as cause:
            if cause.status == 400 and _is_too_long(str(cause)):
                raise ContextFull(str(cause)) from cause
            raise
        self.usage.add(conversation.id, answer.get("usage"))
        text, finish = _spoken(answer)
        return said(text).model_copy(update={"finish_reason": finish})

    def release(self, conversation_id: str) -> None:
        """Do nothing: no state is kept per conversation."""

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()

    async def _answered(self, messages: list[Message], seed: int = 0) -> dict[str, Any]:
        limit = self._limit
        body = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": self._sampling.temperature,
            "top_p": self._sampling.top_p,
            "seed": seed & (2**31 - 1),  # some endpoints take no larger number
            limit: self._sampling.max_new_tokens,
        }
        try:
            answer = await self._endpoint.send("POST", "/chat/completions", body, timeout_s=ACT_S)
        except Refused as cause:
            if limit == "max_tokens" and cause.status == 400 and "max_completion_tokens" in str(cause):
                self._limit = "max_completion_tokens"  # newer models have another name for the same option
                return await self._answered(messages, seed)
            raise
        if not isinstance(answer, dict):
            raise Garbled("the endpoint's answer is no chat completion")
        return answer


def openai_policy(name: str, sampling: Sampling, connections: int) -> OpenAIPolicy:
    """Policy of the model of this name at the endpoint of the environment variables. Raises `ConfigError`
    unless it answers.
    """
    url = os.environ.get(URL_VARIABLE) or DEFAULT_URL
    try:
        url = check_url(url)
    except ValueError as cause:
        raise ConfigError(f"{URL_VARIABLE}: {cause}") from cause
    key = key_from(KEY_VARIABLE) if url == DEFAULT_URL or os.environ.get(KEY_VARIABLE) else None

    def policy() -> OpenAIPolicy:
        return OpenAIPolicy(name, sampling, url=url, key=key, connections=connections)

    async def check() -> "OpenAIPolicy":
        asked, fresh = policy(), policy()  # connections belong to the event loop in which they were opened
        try:
            await asked.check()
        finally:
            await asked.close()
        fresh.usage, fresh._limit = asked.usage, asked._limit
        return fresh

    return asyncio.run(check())


def _hint(refused: Refused, name: str) -> str:
    if refused.status in (401, 403):
        return f"{refused}: {KEY_VARIABLE} holds it"
    if refused.status == 404:
        return f"{refused}; no model {name!r} there? {URL_VARIABLE} sets the endpoint's address"
    if "temperature" in str(refused):
        return f"{refused}; --temperature sets it"
    return str(refused)


def _is_too_long(complaint: str) -> bool:
    return "context_length_exceeded" in complaint or "maximum context length" in complaint


def _spoken(answer: dict[str, Any]) -> tuple[str, Literal["stop", "length"]]:
    """Text of an answer, or its tool calls as JSON, and its finish reason. Raises `Garbled`."""
    try:
        choice = answer["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text, calls = message.get("content"), message.get("tool_calls")
    except (KeyError, IndexError, TypeError, AttributeError) as cause:
        raise Garbled(f"the endpoint's answer is no chat completion: {cause!r}") from cause
    if finish == "content_filter":
        raise Garbled("the endpoint's filter withheld the answer")
    if text is not None and not isinstance(text, str):
        raise Garbled("the endpoint's answer is no text")
    if calls:  # servers that recognise calls take them out of the text
        text = json.dumps({"tool_calls": calls})
    return text or "", "length" if finish == "length" else "stop"
