"""Records as OpenAI's response objects: a completion, or the chunks of a stream.

A reply is sampled whole before the first chunk is sent: a stream arrives at once.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from agentevol.models.rendering import ChatRenderer
from agentevol.service.chat.request import ChatRequest
from agentevol.service.sessions.records import Record
from agentevol.service.settings import MODEL
from agentgym_server.wire import strict_json
from agentgym_server.wire.reply import Headers, Reply, json_reply

EVENTS = (b"content-type", b"text/event-stream; charset=utf-8")


def reply(request: ChatRequest, records: Sequence[Record], renderer: ChatRenderer, headers: Headers) -> Reply:
    """The response to a call."""
    if not request.stream:
        return json_reply(_completion(request, records, renderer), headers=headers)
    events = [b"data: " + strict_json.dump(chunk) for chunk in _chunks(request, records, renderer)]
    body = b"".join(event + b"\n\n" for event in [*events, b"data: [DONE]"])
    return Reply(200, body, headers, EVENTS)


def _completion(request: ChatRequest, records: Sequence[Record], renderer: ChatRenderer) -> dict[str, Any]:
    """`chat.completion`, without members that were not requested."""
    choices = [
        {
            "index": record.choice,
            "message": record.reply.as_json(),
            "finish_reason": record.finish_reason,
            "logprobs": _logprobs(record, renderer) if request.logprobs else None,
            **({"token_ids": record.sample.token_ids} if request.return_token_ids else {}),
        }
        for record in records
    ]
    completion = {**_head(records[0], "chat.completion"), "choices": choices, "usage": _usage(records)}
    if request.return_token_ids:
        completion["prompt_token_ids"] = records[0].sample.prompt_ids
    return completion


def _chunks(
    request: ChatRequest, records: Sequence[Record], renderer: ChatRenderer
) -> Iterator[dict[str, Any]]:
    """`chat.completion.chunk`: role, content and finish reason of each choice."""
    head = _head(records[0], "chat.completion.chunk")
    usage = {"usage": None} if request.include_usage else {}
    for record in records:
        logprobs = _logprobs(record, renderer) if request.logprobs else None
        said = {name: value for name, value in record.reply.as_json().items() if name != "role"}
        if "tool_calls" in said:
            said["tool_calls"] = [{"index": n, **call} for n, call in enumerate(said["tool_calls"])]
        for delta, scores, reason in (
            ({"role": "assistant", "content": ""}, None, None),
            (said, logprobs, None),
            ({}, None, record.finish_reason),
        ):
            choice = {"index": record.choice, "delta": delta, "logprobs": scores, "finish_reason": reason}
            if request.return_token_ids and delta is said:
                choice["token_ids"] = record.sample.token_ids
            yield {**head, "choices": [choice], **usage}
    if request.include_usage:
        yield {**head, "choices": [], "usage": _usage(records)}


def _head(record: Record, kind: str) -> dict[str, Any]:
    return {"id": record.id, "object": kind, "created": int(time.time()), "model": MODEL}


def _usage(records: Sequence[Record]) -> dict[str, int]:
    read = len(records[0].sample.prompt_ids)
    said = sum(len(record.sample.token_ids) for record in records)
    return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}


def _logprobs(record: Record, renderer: ChatRenderer) -> dict[str, Any]:
    sample = record.sample
    tokens = [str(renderer.tokenizer.decode([token_id])) for token_id in sample.token_ids]
    content = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode()), "top_logprobs": []}
        for token, logprob in zip(tokens, sample.logprobs, strict=True)
    ]
    return {"content": content, "refusal": None}
