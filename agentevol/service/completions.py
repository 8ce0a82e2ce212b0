"""Chat calls: from a parsed request to sampled replies, recorded if the call belongs to a session."""

import asyncio
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from agentevol.core.errors import PolicyFault
from agentevol.core.protocols import ContextFull, Sampling
from agentevol.engines.interfaces import TokenPolicy
from agentevol.service.chat.messages import ChatMessage
from agentevol.service.chat.request import ChatRequest
from agentevol.service.chat.tools import parse_reply
from agentevol.service.errors import Refusal, invalid
from agentevol.service.sessions.records import Record
from agentevol.service.sessions.registry import closed
from agentevol.service.sessions.session import Session
from agentevol.service.weights import Weights
from agentgym_store.records import Sample

LONG = 1 << 16
"""Length in characters from which a conversation is rendered in a thread instead of the event loop."""


async def sampled(
    weights: Weights, request: ChatRequest, session: Session | None, request_id: str, timeout_s: float
) -> list[Record]:
    """A record per choice. Raises `Refusal`; the caller must hold the weights in place (`Weights.used`).

    In a session the records are not added to it yet.
    """
    call, before = _begun(session, request)
    prompt_ids = await _prompt_ids(weights, request, before)
    if session is not None and session.state != "open":
        raise closed(session)
    sampling = _sampling(weights, request, len(prompt_ids))
    seeds = _seeds(request, session, call)
    policy = weights.engine.serve(sampling)
    started_at, began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.perf_counter()
    said = await _said(policy, session, call, prompt_ids, seeds, timeout_s)
    latency_s = round(time.perf_counter() - began, 4)
    completion_id = f"chatcmpl-{secrets.token_hex(12)}"
    replies = [_reply(request, sample) for sample in said]
    return [
        Record(
            call=call,
            choice=choice,
            id=completion_id,
            request_id=request_id,
            messages=request.messages,
            tools=request.tools,
            sampling=_as_json(sampling, seeds[choice]),
            overrides=request.overrides,
            reply=reply,
            sample=sample,
            finish_reason=_finish_reason(reply, sample),
            extends=before or _accidental(session, sample),
            started_at=started_at,
            latency_s=latency_s,
        )
        for choice, (reply, sample) in enumerate(zip(replies, said, strict=True))
    ]


def _begun(session: Session | None, request: ChatRequest) -> tuple[int, Record | None]:
    """The number of this call, and the reply that it continues. Raises `Refusal` if the session has ended."""
    if session is None:
        return 1, None
    if session.state != "open":
        raise closed(session)
    session.calls += 1
    return session.calls, session.continued(request.messages, request.tools)


async def _prompt_ids(weights: Weights, request: ChatRequest, before: Record | None) -> list[int]:
    """The ids of the continued reply, extended; or the whole conversation rendered afresh."""

    def render() -> list[int]:
        if before is None:
            return weights.template.prompt(request.messages, request.tools)
        added = request.messages[len(before.messages) + 1 :]
        return weights.template.extended(before.seen_ids(), added, request.tools)

    if sum(len(message.text) for message in request.messages) < LONG:
        return render()
    return await asyncio.to_thread(render)  # megabytes take seconds, during which other requests are answered


def _accidental(session: Session | None, sample: Sample) -> Record | None:
    """The latest reply, if a freshly rendered prompt extends it by chance."""
    heard = [record for record in session.records if record.heard] if session is not None else []
    if not heard:
        return None
    seen_ids = heard[-1].seen_ids()
    return heard[-1] if sample.prompt_ids[: len(seen_ids)] == seen_ids else None


def _sampling(weights: Weights, request: ChatRequest, prompt_tokens: int) -> Sampling:
    """Sampling parameters; the token limit is cut to the context. Raises `Refusal`."""
    room = weights.engine.context - prompt_tokens
    if room < 1:
        raise invalid(
            f"the messages have {prompt_tokens} tokens; with the reply, {weights.engine.context} fit",
            "messages",
            "context_length_exceeded",
        )
    if room < request.max_tokens:
        given = request.overrides.get("max_tokens", {"given": request.max_tokens})["given"]
        request.overrides["max_tokens"] = {"given": given, "used": room}
    return Sampling(request.temperature, request.top_p, min(room, request.max_tokens))


def _seeds(request: ChatRequest, session: Session | None, call: int) -> list[int]:
    """A seed per choice, derived from the session's seed: agents with a fixed seed differ within a group."""
    if session is not None:
        if request.seed is not None:
            request.overrides["seed"] = {"given": request.seed, "used": "the session's"}
        return [_mixed(session.origin.seed, call, choice) for choice in range(request.n)]
    start = secrets.randbits(63) if request.seed is None else request.seed
    return [_mixed(start, 0, choice) for choice in range(request.n)]


def _mixed(*numbers: int) -> int:
    digest = blake2b(repr(numbers).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


async def _said(
    policy: TokenPolicy,
    session: Session | None,
    call: int,
    prompt_ids: Sequence[int],
    seeds: Sequence[int],
    timeout_s: float,
) -> list[Sample]:
    """A sample per seed.

    The first one uses the session's own conversation if it is idle: there the engine keeps its cache.
    """
    names = _names(session, call, len(seeds))
    speaking = session.speaking if session is not None else set[str]()
    speaking.update(names)  # before any await: another call of the session takes other names
    try:
        replies = await asyncio.gather(
            *(
                _complete(policy, name, prompt_ids, seed, timeout_s)
                for name, seed in zip(names, seeds, strict=True)
            ),
            return_exceptions=True,
        )
    finally:
        speaking.difference_update(names)
        for name in names:
            if session is None or name != session.id or session.state != "open":
                policy.release(name)
    samples: list[Sample] = []
    for reply in replies:
        if isinstance(reply, BaseException):
            raise _refusal(reply, session)
        samples.append(reply)
    return samples


def _names(session: Session | None, call: int, count: int) -> list[str]:
    """Engine conversations for the choices of a call."""
    own = f"plain-{secrets.token_hex(8)}" if session is None else session.id
    if session is not None and own in session.speaking:
        own = f"{own}/{call}"
    return [own, *(f"{own}/{call}/{choice}" for choice in range(1, count))]


async def _complete(
    policy: TokenPolicy, name: str, prompt_ids: Sequence[int], seed: int, timeout_s: float
) -> Sample:
    try:
        return await asyncio.wait_for(policy.complete(name, prompt_ids, seed), timeout_s)
    except TimeoutError as cause:
        raise PolicyFault(f"no answer within {timeout_s:g} s") from cause


def _refusal(cause: BaseException, session: Session | None) -> BaseException:
    if session is not None and session.state != "open":
        return closed(session)
    if isinstance(cause, ContextFull):
        return invalid(str(cause), "messages", "context_length_exceeded")
    if isinstance(cause, PolicyFault):
        return Refusal(502, "engine_error", f"the engine failed: {cause}")
    return cause


def _reply(request: ChatRequest, sample: Sample) -> ChatMessage:
    text, calls = parse_reply(sample.text) if request.offers_tools else (sample.text, ())
    return ChatMessage("assistant", text, calls)


def _finish_reason(reply: ChatMessage, sample: Sample) -> str:
    return "tool_calls" if reply.tool_calls and sample.finish_reason == "stop" else sample.finish_reason


def _as_json(sampling: Sampling, seed: int) -> dict[str, Any]:
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_new_tokens,
        "seed": seed,
    }
