"""Scheduler of the embedded engine: assignment of slots to conversations, and the tokens of the next pass.

It uses no tensors and no threads. A conversation gets a slot at its first action and keeps it until it is
released; while none is free, requests wait in order. The contents of a slot are kept across turns: the next
request feeds only the ids that are not there yet.
"""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal

from agentevol.core.protocols import Sampling
from agentevol.core.waits import Waits
from agentevol.engines.embedded.loading import Weights
from agentevol.engines.embedded.slot_cache import Chunk
from agentevol.engines.interfaces import Sampled


@dataclass(eq=False)
class Request:
    """One sampling request: the ids so far, the sampled tokens, and the caller's future."""

    conversation_id: str
    prompt_ids: Sequence[int]
    sampling: Sampling
    seed: int
    weights: Weights
    """Weights that answer the request."""
    reply: "asyncio.Future[Sampled]"
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    since: float = field(default_factory=monotonic)
    """Time at which it came."""

    def __len__(self) -> int:
        return len(self.prompt_ids) + len(self.token_ids)

    def ids_from(self, position: int) -> list[int]:
        """Prompt and sampled ids from a position on."""
        if position < len(self.prompt_ids):
            return [*self.prompt_ids[position:], *self.token_ids]
        return self.token_ids[position - len(self.prompt_ids) :]

    def finish_reason(self) -> Literal["stop", "length"] | None:
        """Finish reason of a complete request, None while it is incomplete."""
        if self.token_ids and self.token_ids[-1] in self.weights.stop_ids:
            return "stop"
        return "length" if len(self.token_ids) >= self.sampling.max_new_tokens else None


@dataclass(eq=False)
class Slot:
    """One sequence's place in the key/value cache."""

    index: int
    conversation_id: str | None = None
    ids: list[int] = field(default_factory=list)
    """Token ids whose keys and values it holds."""
    request: Request | None = None
    idle_since: float = 0.0

    @property
    def remaining(self) -> int:
        """Number of tokens of the request that are yet to be fed; 1 while decoding."""
        return len(self.request) - len(self.ids) if self.request else 0

    def begin(self, request: Request) -> None:
        """Rewind to the common prefix of cache and request; the last token is always fed, for its logits."""
        self.ids = self.ids[: min(common_prefix(self.ids, request.prompt_ids), len(request.prompt_ids) - 1)]
        self.request = request


class Scheduler:
    """Owner of slots and queue. Used by one thread."""

    def __init__(self, slots: int, prefill_tokens: int, evict_after_s: float) -> None:
        self.slots = [Slot(index) for index in range(slots)]
        self.prefill_tokens = prefill_tokens
        """Maximum tokens of one prefill step, padding included."""
        self._evict_after_s = evict_after_s
        self._owned: dict[str, Slot] = {}
        self._returning: list[Request] = []  # requests of conversations that hold a slot
        self._waiting: deque[Request] = deque()  # requests of conversations without a slot
        self._queued_ids: set[str] = set()
        self.waits = Waits()
        """Waits of requests until they began."""

    def add(self, request: Request) -> None:
        """Queue a request. Raises `ValueError` where its conversation already has one."""
        slot = self._owned.get(request.conversation_id)
        if (slot and slot.request) or request.conversation_id in self._queued_ids:
            raise ValueError(f"the conversation {request.conversation_id} has two calls at once")
        self._queued_ids.add(request.conversation_id)
        if slot:
            self._returning.append(request)
        else:
            self._waiting.append(request)

    def admit(self) -> None:
        """Start queued requests: those of conversations with a slot, then in order as many as slots are
        free.
        """
        for request in self._returning:
            self._begin(self._owned[request.conversation_id], request)
            self._queued_ids.discard(request.conversation_id)
        self._returning.clear()
        while self._waiting and self._make_room():
            request = self._waiting.popleft()
            slot = next(slot for slot in self.slots if slot.conversation_id is None)
            slot.conversation_id = request.conversation_id
            self._owned[request.conversation_id] = slot
            self._queued_ids.discard(request.conversation_id)
            self._begin(slot, request)

    def _begin(self, slot: Slot, request: Request) -> None:
        self.waits.add(monotonic() - request.since)
        slot.begin(request)

    def drop(self, request: Request) -> None:
        """Remove a request that is answered or abandoned; its conversation keeps the slot."""
        slot = self._owned.get(request.conversation_id)
        if slot and slot.request is request:
            slot.request, slot.idle_since = None, monotonic()
            return
        if request in self._returning or request in self._waiting:
            self._queued_ids.discard(request.conversation_id)
            self._returning = [one for one in self._returning if one is not request]
            self._waiting = deque(one for one in self._waiting if one is not request)

    def release(self, conversation_id: str) -> list[Request]:
        """Free a conversation's slot; returns its pending requests."""
        dropped = [one for one in self._requests() if one.conversation_id == conversation_id]
        for request in dropped:
            self.drop(request)
        slot = self._owned.pop(conversation_id, None)
        if slot:
            slot.conversation_id, slot.ids = None, []
        return dropped

    def _make_room(self) -> bool:
        """Return whether a slot is free, after evicting the conversation that has been idle longest if need
        be.

        Its episode may have ended without a release, or its environment may be slow: either way it must not
        block the other conversations.
        """
        if len(self._owned) < len(self.slots):
            return True
        idle = [slot for slot in self._owned.values() if slot.request is None]
        oldest = min(idle, key=lambda slot: slot.idle_since, default=None)
        if oldest is None or oldest.conversation_id is None:
            return False
        if monotonic() - oldest.idle_since < self._evict_after_s:
            return False
        self.release(oldest.conversation_id)
        return True

    def clear(self) -> list[Request]:
        """Free every slot and empty the queue; returns the pending requests."""
        dropped = list(self._requests())
        for request in dropped:
            self.drop(request)
        for conversation_id in list(self._owned):
            self.release(conversation_id)
        return dropped

    @property
    def running(self) -> list[Slot]:
        """Slots with a request, by index."""
        return [slot for slot in self.slots if slot.request]

    @property
    def queued(self) -> int:
        """Number of requests that have not begun."""
        return len(self._returning) + len(self._waiting)

    def next_chunks(self) -> list[Chunk]:
        """Chunks of the next pass, in the order of slots: a token of each decoding slot, or a batch of
        prompts.
        """
        running = self.running
        decoding = [slot for slot in running if slot.remaining == 1]
        prefilling = [slot for slot in running if slot.remaining > 1]
        if prefilling and prefill_first(len(prefilling), len(decoding)):
            return self._prefill(prefilling)
        return [_chunk(slot, 1) for slot in decoding]

    def _prefill(self, slots: list[Slot]) -> list[Chunk]:
        """The longest prompt and those at least half as long, so that padding is bounded."""
        ordered = sorted(slots, key=lambda slot: -slot.remaining)
        width = min(ordered[0].remaining, self.prefill_tokens)
        similar = [slot for slot in ordered if 2 * slot.remaining >= width]
        chosen = similar[: max(1, self.prefill_tokens // width)]
        return [_chunk(slot, width) for slot in sorted(chosen, key=lambda slot: slot.index)]

    def _requests(self) -> Iterator[Request]:
        yield from [slot.request for slot in self.slots if slot.request]
        yield from list(self._returning)
        yield from list(self._waiting)


def prefill_first(prefilling: int, decoding: int) -> bool:
    """Return whether prefill precedes decoding: as soon as there are half as many prompts as decoding rows.

    Waiting longer leaves decoding steps half empty; prefilling each at once costs a pass for a few tokens.
    """
    return 2 * prefilling >= decoding


def common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the common prefix."""
    length = min(len(left), len(right))
    if list(left[:length]) == list(right[:length]):
        return length
    return next(place for place in range(length) if left[place] != right[place])


def _chunk(slot: Slot, width: int) -> Chunk:
    request = slot.request
    if request is None:
        raise ValueError(f"slot {slot.index} has nothing to feed")
    return Chunk(slot.index, len(slot.ids), request.ids_from(len(slot.ids))[:width])
