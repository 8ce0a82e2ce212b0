"""The policies of engines that sample outside this process: what they are given, and what they ask."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentevol.engines.scheduler import Sampled
from agentevol.engines.taking_turns import Bounds, TurnPolicy
from agentevol.protocols import Sampling
from agentevol.rendering import ChatRenderer


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


class OrderTaker(Bounds, Protocol):
    """What a `VllmPolicy` asks: an engine in this process, or one that speaks to servers."""

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample."""
        ...

    def release(self, conversation_id: str) -> None:
        """Forget a conversation."""
        ...


class VllmPolicy(TurnPolicy):
    """What vLLM samples."""

    def __init__(self, engine: OrderTaker, served: Served, sampling: Sampling) -> None:
        super().__init__(served, engine, sampling)
        self._engine, self._served = engine, served

    async def _sampled(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sampled:
        order = Order(conversation_id, prompt_ids, self._sampling, seed, self._served)
        return await asyncio.wrap_future(self._engine.submit(order))

    def release(self, conversation_id: str) -> None:
        """Abort what the conversation waits for. What the cache holds of it goes when room is needed."""
        self._engine.release(conversation_id)
