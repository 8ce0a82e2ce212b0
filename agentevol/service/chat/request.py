"""Body of a chat completion, and the rules of the service that override it.

Unsupported members are refused, except at their neutral values: clients send `"presence_penalty": 0`.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from agentevol.service.chat.messages import ChatMessage, parse_messages
from agentevol.service.chat.tools import asks_for_strictness, parse_tools
from agentevol.service.errors import invalid
from agentgym_server.wire.requests import Body, validated

MAX_CHOICES = 16
Tokens = Annotated[int, Field(ge=1, le=2**31 - 1)]


class StreamOptions(Body):
    """Options of a stream."""

    include_usage: bool | None = None


class ChatBody(Body):
    """Supported members; null is the same as absent."""

    messages: list[Any]
    model: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Tokens | None = None
    max_completion_tokens: Tokens | None = None
    seed: Annotated[int, Field(ge=-(2**63), le=2**63 - 1)] | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    logprobs: bool | None = None
    return_token_ids: bool | None = None
    """vLLM's name: ids of prompt and reply."""
    tools: list[Any] | None = None
    tool_choice: Any = None
    # Metadata of the caller for billing or storage; it has no effect.
    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    # Accepted only at the value that has no effect.
    stop: Any = None
    top_logprobs: Any = None
    presence_penalty: Any = None
    frequency_penalty: Any = None
    logit_bias: Any = None
    response_format: Any = None
    parallel_tool_calls: Any = None
    reasoning_effort: Any = None


NEUTRAL: dict[str, tuple[Any, ...]] = {
    "stop": (None, [], ""),
    "top_logprobs": (None, 0),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "logit_bias": (None, {}),
    "response_format": (None, {"type": "text"}),
    "parallel_tool_calls": (None, True),
    "reasoning_effort": (None,),
    "tool_choice": (None, "auto", "none"),
}
"""Unsupported members with the values that have no effect."""


@dataclass(frozen=True)
class Rules:
    """Settings of the service that override a client's; None leaves the choice to the client."""

    max_new_tokens: int
    """Maximum number of tokens of a reply, and the default if the client sets none."""
    temperature: float | None = None
    top_p: float | None = None


@dataclass(frozen=True)
class ChatRequest:
    """One call with its effective parameters."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[dict[str, Any], ...]
    offers_tools: bool
    """True if the reply is searched for tool calls."""
    temperature: float
    top_p: float
    max_tokens: int
    seed: int | None
    n: int
    stream: bool
    include_usage: bool
    logprobs: bool
    return_token_ids: bool
    overrides: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Parameters that the client asked for (`given`) and did not get, with the values used instead."""


def parse_chat(body: object, model: str, rules: Rules) -> ChatRequest:
    """The request that a body makes to `model`. Raises `Refusal`, or the problem `validation`."""
    given = validated(ChatBody, body)
    _refuse_what_has_no_effect(given)
    tools = parse_tools(given.tools or [])
    overrides = _Overrides()
    if given.model is not None:
        overrides.note("model", given.model, model)
    if asks_for_strictness(given.tools or []):
        overrides.note("strict", True, False)
    wanted = given.max_completion_tokens or given.max_tokens or rules.max_new_tokens
    return ChatRequest(
        messages=parse_messages(given.messages),
        tools=tools,
        offers_tools=bool(tools) and given.tool_choice != "none",
        temperature=overrides.decide("temperature", given.temperature, rules.temperature, 1.0),
        top_p=overrides.decide("top_p", given.top_p, rules.top_p, 1.0),
        max_tokens=overrides.note("max_tokens", wanted, min(wanted, rules.max_new_tokens)),
        seed=given.seed,
        n=given.n or 1,
        stream=bool(given.stream),
        include_usage=given.stream_options is not None and bool(given.stream_options.include_usage),
        logprobs=bool(given.logprobs),
        return_token_ids=bool(given.return_token_ids),
        overrides=overrides.found,
    )


def _refuse_what_has_no_effect(given: ChatBody) -> None:
    for name, neutral in NEUTRAL.items():
        value = getattr(given, name)
        if not any(value == one and type(value) in (type(one), float) for one in neutral):
            shown = " or ".join(repr(one) for one in neutral[1:]) or "nothing"
            raise invalid(f"{name} has no effect here: leave it out (or send {shown})", name, "unsupported")
    if given.stream_options is not None and not given.stream:
        raise invalid("stream_options has no effect without stream", "stream_options", "unsupported")


class _Overrides:
    """Collector of overridden parameters."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    def note(self, name: str, given: Any, used: Any) -> Any:
        """`used`, recorded if it differs from the given value."""
        if given != used:
            self.found[name] = {"given": given, "used": used}
        return used

    def decide(self, name: str, given: float | None, ruled: float | None, default: float) -> float:
        """The service's value, else the given one, else the default."""
        if ruled is None:
            return default if given is None else given
        return ruled if given is None else self.note(name, given, ruled)
