"""How a language model takes a turn, whoever samples it: what it reads, whether it fits, what is recorded."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from agentevol.engines.limits import check_room
from agentevol.engines.overflow import prompt_of
from agentevol.engines.scheduler import Sampled
from agentevol.protocols import Conversation, Overflow, Sampling
from agentevol.rendering import ChatRenderer
from agentgym_store.records import Sample


class Speaker(Protocol):
    """One frozen set of weights."""

    @property
    def renderer(self) -> ChatRenderer:
        """Renders for its tokenizer."""
        ...

    @property
    def version(self) -> int:
        """Its place in the run."""
        ...

    @property
    def name(self) -> str:
        """Its folder's."""
        ...


class Bounds(Protocol):
    """How long a conversation may be, and what becomes of a longer one: an engine's."""

    context: int
    overflow: Overflow


class TurnPolicy(ABC):
    """One frozen set of weights with its sampling: a `TokenPolicy` but for sampling and `release`. It ends
    with the next `update` of its engine.
    """

    def __init__(self, speaker: Speaker, bounds: Bounds, sampling: Sampling) -> None:
        self._speaker, self._bounds, self._sampling = speaker, bounds, sampling
        self.name = speaker.name
        self.version = speaker.version

    @property
    def renderer(self) -> ChatRenderer:
        """Renders for the weights' tokenizer."""
        return self._speaker.renderer

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next turn. Raises `ContextFull` and `PolicyFault`; waits while the engine is full."""
        bounds = self._bounds
        prompt_ids = prompt_of(self.renderer, conversation, self._sampling, bounds.context, bounds.overflow)
        return await self.complete(conversation.id, prompt_ids, seed)

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """Sample what follows these ids; raises what `act` does."""
        check_room(len(prompt_ids), self._sampling, self._bounds.context)
        sampled = await self._sampled(conversation_id, prompt_ids, seed)
        return Sample(
            text=self.renderer.text(sampled.token_ids),
            prompt_ids=tuple(prompt_ids),
            token_ids=sampled.token_ids,
            logprobs=sampled.logprobs,
            policy_version=self.version,
            finish_reason=sampled.finish_reason,
        )

    @abstractmethod
    async def _sampled(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sampled:
        """What follows ids that leave room for it. Cancelled, it stops what it began."""
