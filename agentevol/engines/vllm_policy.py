"""The policies of engines that sample outside this process: what they are given, and what they ask."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentevol.engines.limits import check_room
from agentevol.engines.overflow import prompt_of
from agentevol.engines.scheduler import Sampled
from agentevol.protocols import Conversation, Overflow, Sampling
from agentevol.rendering import ChatRenderer
from agentgym_store.records import Sample


@dataclass(frozen=True, eq=False)
class Served:
    """One set of weights as the engine serves it."""

    renderer: ChatRenderer
    stop_ids: tuple[int, ...]
    version: int
    name: str
    folder: Path
    """What vLLM reads: the checkpoint, its untied copy, or its adapters alone."""


@dataclass
class VllmCounts:
    """What the engine has done so far, besides probes."""

    read: int = 0
    """Tokens of prompts."""
    cached: int = 0
    """Of these, how many were in the prefix cache."""
    sampled: int = 0


@dataclass(frozen=True)
class Order:
    """What is asked of vLLM."""

    conversation_id: str
    prompt_ids: Sequence[int]
    sampling: Sampling
    seed: int
    served: Served


class OrderTaker(Protocol):
    """What a `VllmPolicy` asks: an engine in this process, or one that speaks to servers."""

    context: int
    overflow: Overflow

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample."""
        ...

    def release(self, conversation_id: str) -> None:
        """Forget a conversation."""
        ...


class VllmPolicy:
    """One frozen set of weights with its sampling. It ends with the next `update` of its engine."""

    def __init__(self, engine: OrderTaker, served: Served, sampling: Sampling) -> None:
        self._engine, self._served, self._sampling = engine, served, sampling
        self.name = served.name
        self.version = served.version

    @property
    def renderer(self) -> ChatRenderer:
        """Renders for the weights' tokenizer."""
        return self._served.renderer

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next turn. Raises `ContextFull` and `PolicyFault`; waits while the engine is full."""
        renderer, engine = self._served.renderer, self._engine
        prompt_ids = prompt_of(renderer, conversation, self._sampling, engine.context, engine.overflow)
        return await self.complete(conversation.id, prompt_ids, seed)

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """Sample what follows these ids; raises what `act` does."""
        check_room(len(prompt_ids), self._sampling, self._engine.context)
        order = Order(conversation_id, prompt_ids, self._sampling, seed, self._served)
        sampled = await asyncio.wrap_future(self._engine.submit(order))
        return Sample(
            text=self.renderer.text(sampled.token_ids),
            prompt_ids=tuple(prompt_ids),
            token_ids=sampled.token_ids,
            logprobs=sampled.logprobs,
            policy_version=self.version,
            finish_reason=sampled.finish_reason,
        )

    def release(self, conversation_id: str) -> None:
        """Abort what the conversation waits for. What the cache holds of it goes when room is needed."""
        self._engine.release(conversation_id)
