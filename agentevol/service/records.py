"""`Record`: one sampled reply, with everything that was read and decided for it."""

from dataclasses import dataclass
from typing import Any

from agentevol.service.messages import ChatMessage
from agentevol.service.settings import MODEL
from agentgym_store.records import Sample

LOST = "client_disconnect"
"""How a reply ended that its client did not wait for: it has said nothing, and is never learnt."""


@dataclass(eq=False)
class Record:
    """One choice of one call."""

    call: int
    """Which call of the session, from 1."""
    choice: int
    id: str
    """Of the completion, as its client knows it."""
    request_id: str
    messages: tuple[ChatMessage, ...]
    tools: tuple[dict[str, Any], ...]
    sampling: dict[str, Any]
    overrides: dict[str, dict[str, Any]]
    reply: ChatMessage
    sample: Sample
    finish_reason: str
    extends: "Record | None"
    """The reply that its prompt goes on from, id for id."""
    started_at: str
    latency_s: float
    reward: float | None = None

    @property
    def heard(self) -> bool:
        """Whether its client can have read it."""
        return self.finish_reason != LOST

    def seen_ids(self) -> tuple[int, ...]:
        """What was read and said until its end."""
        return self.sample.prompt_ids + self.sample.token_ids

    def is_repeated_by(self, messages: tuple[ChatMessage, ...], tools: tuple[dict[str, Any], ...]) -> bool:
        """Whether a conversation begins with all of this one and goes on."""
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
