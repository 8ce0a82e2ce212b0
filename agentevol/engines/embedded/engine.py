"""Embedded engine: a transformers model in this process with continuous batching over many conversations.

One worker thread does the torch work: it takes requests from the inbox, feeds prompts and decodes all active
slots in steps (`scheduler`, `forward`), and hands samples to the waiting event loops. Slots keep each
episode's keys and values from its first action to its release, so a turn feeds only the last sampled token
and the new observation. A sample depends on weights, ids and seed, not on the rest of the batch, up to float
rounding.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import torch

from agentevol.core.errors import ConfigError, PolicyFault, WeightsReplaced, one_line
from agentevol.core.protocols import Checkpoint, Overflow, Sampling
from agentevol.core.splitmix import uniform
from agentevol.core.waits import Waits
from agentevol.engines.embedded.forward import StepModel
from agentevol.engines.embedded.loading import Weights, load_weights
from agentevol.engines.embedded.sampling import Draw, draw
from agentevol.engines.embedded.scheduler import Request, Scheduler, Slot
from agentevol.engines.embedded.slot_cache import Chunk, SlotCache
from agentevol.engines.interfaces import Sampled
from agentevol.engines.turn_policy import TurnPolicy
from agentevol.models.causal_lm import shapes
from agentevol.models.limits import check_sampling, context_of

PREFILL_TOKENS = 2048
"""Maximum tokens of one prefill step, padding included: bounds its memory."""
EVICT_AFTER_S = 5.0
"""Idle time after which a conversation gives its slot to a waiting one; should it return, its prompt is fed
anew.
"""


@dataclass
class EngineCounts:
    """Counters of the worker thread's work so far."""

    prefilled: int = 0
    """Tokens fed other than those sampled in the step before."""
    sampled: int = 0
    prefill_steps: int = 0
    decode_steps: int = 0


class EmbeddedPolicy(TurnPolicy):
    """Policy that samples in the engine's worker thread."""

    def __init__(self, engine: "EmbeddedEngine", weights: Weights, sampling: Sampling) -> None:
        super().__init__(weights, engine, sampling)
        self._engine, self._weights = engine, weights

    async def _sampled(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sampled:
        reply: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        request = Request(conversation_id, prompt_ids, self._sampling, seed, self._weights, reply)
        self._engine.submit(request)
        try:
            return await reply
        except asyncio.CancelledError:
            self._engine.abandon(request)
            raise

    def release(self, conversation_id: str) -> None:
        """Free the conversation's slot."""
        self._engine.release(conversation_id)


class EmbeddedEngine:
    """Engine for any causal LM of transformers that keeps keys and values; others raise `ConfigError` at the
    start.

    `context` bounds a conversation in tokens; None: the model's own window, at most `limits.DEFAULT_CONTEXT`.
    `threads` are torch's; None leaves them unchanged. The cache takes at most slots x context x layers x 2 x
    key heads x head size numbers.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        slots: int = 64,
        context: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
        dtype: str = "float32",
        chat_template_kwargs: Mapping[str, Any] | None = None,
        overflow: Overflow = "truncate",
    ) -> None:
        if slots < 1:
            raise ConfigError(f"slots must be at least 1, not {slots}")
        self._device, self._dtype, self._threads = device, dtype, threads
        self._chat_template_kwargs = chat_template_kwargs
        self.overflow: Overflow = overflow
        self._weights = load_weights(checkpoint, device, dtype, chat_template_kwargs)
        self.context = context_of(context, self._weights.window)
        self._model = StepModel(self._weights.model, SlotCache(slots, self.context))
        self._model.check()
        self._scheduler = Scheduler(slots, PREFILL_TOKENS, EVICT_AFTER_S)
        self.counts = EngineCounts()
        self._inbox: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._swap: tuple[Weights, StepModel, Future[None]] | None = None
        self._over: str | None = None  # reason for which the engine serves no more requests
        self._closing = False
        self.lost = False
        self._thread = threading.Thread(target=self._work, name="embedded-engine", daemon=True)
        self._thread.start()

    def serve(self, sampling: Sampling) -> EmbeddedPolicy:
        """Return a policy over the current weights. Raises `ConfigError` for a sampling out of range."""
        check_sampling(sampling)
        return EmbeddedPolicy(self, self._weights, sampling)

    def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights once all running requests are complete; blocks until then.

        Policies of the previous weights raise `WeightsReplaced` from then on. Raises `ConfigError` for a
        folder that cannot be read or holds another architecture (the old weights stay), and `PolicyFault`
        where the engine has stopped.
        """
        fresh = load_weights(checkpoint, self._device, self._dtype, self._chat_template_kwargs)
        if type(fresh.model) is not type(self._weights.model) or shapes(fresh.model) != shapes(
            self._weights.model
        ):
            raise ConfigError(
                f"the checkpoint {checkpoint.path} is of another architecture than {self._weights.name}"
            )
        done: Future[None] = Future()
        model = StepModel(fresh.model, self._model.cache)
        self._tell(lambda: self._ask_swap(fresh, model, done))
        done.result()

    def close(self) -> None:
        """End the worker and free its memory; pending requests raise `PolicyFault`. May be called twice."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def submit(self, request: Request) -> None:
        """Queue a request. Raises `PolicyFault` where the engine has stopped."""
        self._tell(lambda: self._add(request))

    def abandon(self, request: Request) -> None:
        """Stop working on a request whose caller no longer waits for it."""
        self._tell(lambda: self._scheduler.drop(request), or_ignore=True)

    def release(self, conversation_id: str) -> None:
        """Free a conversation's slot; an unknown conversation is ignored."""
        self._tell(lambda: self._release(conversation_id), or_ignore=True)

    def take_waits(self) -> Waits:
        """Waits of requests for a slot since the previous call."""
        waits, self._scheduler.waits = self._scheduler.waits, Waits()
        return waits

    def _tell(self, command: Callable[[], None], *, or_ignore: bool = False) -> None:
        """Have the worker run `command` between steps."""
        with self._wake:
            if self._over is None and not self._closing:
                self._inbox.append(command)
                self._wake.notify()
                return
        if not or_ignore:
            raise PolicyFault(self._over or "the engine is closed")

    # Everything below runs in the worker thread only.

    def _work(self) -> None:
        reason = "the engine is closed"
        try:
            self._serve_until_closed()
        except Exception as cause:  # noqa: BLE001 - whatever failed here must reach the callers that wait
            self.lost = True
            reason = f"the engine failed, create another one: {one_line(cause)}"
        finally:
            self._end(reason)

    @torch.inference_mode()
    def _serve_until_closed(self) -> None:
        """Process the inbox and run one step, until the engine closes."""
        if self._threads:
            torch.set_num_threads(self._threads)
        while True:
            self._wait()
            while self._inbox:
                self._inbox.popleft()()
            if self._closing:
                return
            if self._swap and not self._scheduler.running:
                self._swap_now()
            if not self._swap:
                self._scheduler.admit()
            chunks = self._scheduler.next_chunks()
            if chunks:
                self._step(chunks)

    def _wait(self) -> None:
        """Sleep while there is nothing to do; where requests queue for slots, wake up after a while."""
        with self._wake:
            busy = self._inbox or self._closing or self._swap or self._scheduler.running
            if not busy:
                self._wake.wait(EVICT_AFTER_S / 4 if self._scheduler.queued else None)

    def _step(self, chunks: Sequence[Chunk]) -> None:
        """Feed the chunks; sample in the slots whose request has been fed completely."""
        logits_BV = self._model.logits(chunks)
        whole: list[int] = []
        for row, chunk in enumerate(chunks):
            slot = self._scheduler.slots[chunk.slot]
            slot.ids.extend(chunk.token_ids)
            if slot.remaining == 0:
                whole.append(row)
        self._count(chunks)
        if len(whole) < len(chunks):
            logits_BV = logits_BV[whole]
        if whole:
            self._sample([self._scheduler.slots[chunks[row].slot] for row in whole], logits_BV)

    def _sample(self, slots: list[Slot], logits_BV: torch.Tensor) -> None:
        requests = [slot.request for slot in slots if slot.request]
        rows = Draw(
            temperatures=[request.sampling.temperature for request in requests],
            top_ps=[request.sampling.top_p for request in requests],
            uniforms=[uniform(request.seed, len(request)) for request in requests],
        )
        done: list[tuple[Request, Sampled | Exception]] = []
        for request, token, logp in zip(requests, *draw(logits_BV, rows), strict=True):
            request.token_ids.append(token)
            request.logprobs.append(logp)
            reason = request.finish_reason()
            if reason:
                done.append((request, Sampled(tuple(request.token_ids), tuple(request.logprobs), reason)))
        self.counts.sampled += len(requests)
        _deliver(done)  # before the slots are cleared: should anything fail here, all requests are answered
        for request, _ in done:
            self._scheduler.drop(request)

    def _count(self, chunks: Sequence[Chunk]) -> None:
        if max(len(chunk.token_ids) for chunk in chunks) == 1:
            self.counts.decode_steps += 1
        else:
            self.counts.prefill_steps += 1
            self.counts.prefilled += sum(len(chunk.token_ids) for chunk in chunks)

    def _add(self, request: Request) -> None:
        if request.weights is not self._weights:
            _deliver([(request, self._replaced())])
            return
        try:
            self._scheduler.add(request)
        except ValueError as cause:
            _deliver([(request, PolicyFault(str(cause)))])

    def _release(self, conversation_id: str) -> None:
        fault = PolicyFault("the conversation was released while it acted")
        _deliver([(request, fault) for request in self._scheduler.release(conversation_id)])

    def _ask_swap(self, weights: Weights, model: StepModel, done: "Future[None]") -> None:
        if self._swap:
            done.set_exception(PolicyFault("another update of the weights is under way"))
        else:
            self._swap = (weights, model, done)

    def _swap_now(self) -> None:
        if self._swap is None:
            return
        self._weights, self._model, done = self._swap
        self._swap = None
        _deliver([(request, self._replaced()) for request in self._scheduler.clear()])
        done.set_result(None)

    def _replaced(self) -> WeightsReplaced:
        return WeightsReplaced(
            f"the weights were replaced by version {self._weights.version}: serve a policy of those"
        )

    def _end(self, reason: str) -> None:
        """Refuse new requests and fail all pending ones."""
        with self._wake:
            self._over = reason  # from here on the inbox takes no more commands
        while self._inbox:
            self._inbox.popleft()()  # queues requests and swaps, so that the lines below answer them
        _deliver([(request, PolicyFault(reason)) for request in self._scheduler.clear()])
        if self._swap:
            self._swap[2].set_exception(PolicyFault(reason))
        self._model.cache.tensors.clear()


def _deliver(replies: Sequence[tuple[Request, Sampled | Exception]]) -> None:
    """Hand results to the event loops that wait for them; closed loops are skipped."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Sampled], Sampled | Exception]]] = {}
    for request, result in replies:
        by_loop.setdefault(request.reply.get_loop(), []).append((request.reply, result))
    for loop, items in by_loop.items():
        if not loop.is_closed():
            _call_soon(loop, items)


def _call_soon(
    loop: asyncio.AbstractEventLoop, items: list[tuple["asyncio.Future[Sampled]", Sampled | Exception]]
) -> None:
    try:
        loop.call_soon_threadsafe(_resolve, items)
    except RuntimeError:
        if not loop.is_closed():  # closed between the two checks: no caller waits
            raise


def _resolve(items: list[tuple["asyncio.Future[Sampled]", Sampled | Exception]]) -> None:
    for reply, result in items:
        if reply.done():  # cancelled meanwhile
            continue
        if isinstance(result, Exception):
            reply.set_exception(result)
        else:
            reply.set_result(result)
