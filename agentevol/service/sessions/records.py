"""`Record`: one sampled reply, with its prompt ids and effective parameters."""

from dataclasses import dataclass
from typing import Any

from agentevol.service.chat.messages import ChatMessage
from agentevol.service.settings import MODEL
from agentgym_store.records import Sample

LOST = "client_disconnect"
"""Finish reason of a reply whose client disconnected: it is not part of the conversation and never trained
on.
"""


@dataclass(eq=False)
class Record:
    """One choice of one call."""

    call: int
    """Number of the call in the session, from 1."""
    choice: int
    id: str
    """Id of the completion in the response."""
    request_id: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[dict[str, Any], ...]
    sampling: dict[str, Any]
    overrides: dict[str, dict[str, Any]]
    reply: ChatMessage
    sample: Sample
    finish_reason: str
    extends: "Record | None"
    """Reply whose ids its prompt extends."""
    started_at: str
    latency_s: float
    reward: float | None = None

    @property
    def heard(self) -> bool:
        """True if its client can have received it."""
        return self.finish_reason != LOST

    def seen_ids(self) -> tuple[int, ...]:
        """Ids of the prompt and the reply."""
        return self.sample.prompt_ids + self.sample.token_ids

    def is_repeated_by(self, messages: tuple[ChatMessage, ...], tools: tuple[dict[str, Any], ...]) -> bool:
        """True if a conversation begins with this whole one and continues it."""
        length = len(self.messages)
        return (
            self.heard
            and len(messages) > length
            and tools == self.tools
            and messages[length].repeats(self.reply)
            and all(new.repeats(old) for new, old in zip(messages, self.messages, strict=False))
        )

    def as_json(self, turn: int | None) -> dict[str, Any]:
        """One line of a trace; `turn` is its number in the episode, from 1."""
        reply = self.reply.as_json()
        return {
            "call": self.call,
            "choice": self.choice,
            "id": self.id,
            "request_id": self.request_id,
            "model": MODEL,
            "policy_version": self.sample.policy_version,
            "messages": [message.as_json() for message in self.messages],
            "tools": list(self.tools) or None,
            "sampling": self.sampling,
            "response": {"tool_calls": None, **reply},
            "finish_reason": self.finish_reason,
            "prompt_token_ids": self.sample.prompt_ids,
            "token_ids": self.sample.token_ids,
            "logprobs": self.sample.logprobs,
            "exact": True,
            "extends": None if self.extends is None else self.extends.call,
            "reward": self.reward,
            "turns": [] if turn is None else [turn],
            "started_at": self.started_at,
            "latency_s": self.latency_s,
            "overrides": self.overrides,
        }
