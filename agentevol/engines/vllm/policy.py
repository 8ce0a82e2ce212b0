"""Policies of engines that sample outside this process, with their requests and counters."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentevol.core.protocols import Sampling
from agentevol.engines.interfaces import Sampled
from agentevol.engines.turn_policy import Bounds, TurnPolicy
from agentevol.models.rendering import ChatRenderer


@dataclass(frozen=True, eq=False)
class Served:
    """One set of weights as the engine serves it."""

    renderer: ChatRenderer
    stop_ids: tuple[int, ...]
    version: int
    name: str
    folder: Path
    """Folder that vLLM reads: the checkpoint, its copy with separate output embeddings, or its adapters
    alone.
    """


@dataclass
class VllmCounts:
    """Counters of the engine's work so far, probes excluded."""

    read: int = 0
    """Prompt tokens."""
    cached: int = 0
    """Prompt tokens found in the prefix cache."""
    sampled: int = 0


@dataclass(frozen=True)
class Order:
    """One sampling request to vLLM."""

    conversation_id: str
    prompt_ids: Sequence[int]
    sampling: Sampling
    seed: int
    served: Served


class OrderTaker(Bounds, Protocol):
    """Receiver of a `VllmPolicy`'s requests: an engine in this process, or a client of servers."""

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample."""
        ...

    def release(self, conversation_id: str) -> None:
        """Discard the state of a conversation."""
        ...


class VllmPolicy(TurnPolicy):
    """Policy that samples through vLLM."""

    def __init__(self, engine: OrderTaker, served: Served, sampling: Sampling) -> None:
        super().__init__(served, engine, sampling)
        self._engine, self._served = engine, served

    async def _sampled(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sampled:
        order = Order(conversation_id, prompt_ids, self._sampling, seed, self._served)
        return await asyncio.wrap_future(self._engine.submit(order))

    def release(self, conversation_id: str) -> None:
        """Abort the conversation's pending request. Its cache blocks are evicted when room is needed."""
        self._engine.release(conversation_id)
