"""What engines have in common that sample outside this process: in vLLM's processes, or on servers.

A thread of its own runs the event loop that they are spoken to from; acts come in from any other loop, so
that `update` can block. Acts wait while weights are replaced, and a replacement waits for acts under way.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from transformers import PreTrainedModel

from agentevol.causal_lm import load_model
from agentevol.engines.limits import check_sampling
from agentevol.engines.loading import DTYPES, renderer_of, shapes
from agentevol.engines.scheduler import Sampled
from agentevol.engines.vllm_policy import Order, Served, VllmCounts, VllmPolicy
from agentevol.errors import AgentEvolError, ConfigError, PolicyFault, WeightsReplaced, one_line
from agentevol.protocols import Checkpoint, Overflow, Sampling

CLOSE_S = 5.0
"""How long what is under way may take to end."""
ResultT = TypeVar("ResultT")


class OutsideEngine(ABC):
    """Serves one set of weights at a time. A subclass samples, replaces weights and shuts down."""

    context: int
    """Most tokens of a prompt and what follows it."""

    def __init__(
        self, dtype: str, chat_template_kwargs: Mapping[str, Any] | None, overflow: Overflow
    ) -> None:
        if dtype not in DTYPES:
            raise ConfigError(f"no dtype named {dtype!r}; there are: {', '.join(DTYPES)}")
        self._dtype, self._chat_template_kwargs = dtype, chat_template_kwargs
        self.overflow: Overflow = overflow
        self.counts = VllmCounts()
        self.lost = False
        self._over: str | None = None  # why nothing is served any more
        self._changing = False  # while the weights are replaced
        self._acting: dict[str, asyncio.Task[Sampled]] = {}
        self._open, self._idle = asyncio.Event(), asyncio.Event()  # while no update; while nothing is sampled
        self._loop = event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__, daemon=True)
        self._thread.start()

    def serve(self, sampling: Sampling) -> VllmPolicy:
        """A policy over the current weights. Raises `ConfigError` for a sampling out of range."""
        check_sampling(sampling)
        return VllmPolicy(self, self._served, sampling)

    def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights once the acts under way are through; blocks until then.

        Policies of the weights before raise `WeightsReplaced` from then on. Raises `ConfigError` for a folder
        that cannot be read or holds another architecture (the old weights stay), `PolicyFault` where the
        engine is over, and `RunStopped` where it does not sample with the new weights: then it is over.
        """
        model, fresh = self._prepared(checkpoint)
        if shapes(model) != self._shapes:
            raise ConfigError(
                f"the checkpoint {checkpoint.path} is of another architecture than {self._served.name}"
            )
        self._call(self._swap(fresh, lambda: self._renew(fresh, model)))

    def close(self) -> None:
        """End what is under way, whose acts raise `PolicyFault`, and let go. May be called twice."""
        self._over = self._over or "the engine is closed"
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample. Cancelling the reply aborts it. Raises `PolicyFault` where the engine is over."""
        return self._schedule(self._sample(order))

    def release(self, conversation_id: str) -> None:
        """Abort what a conversation waits for; unknown ones are ignored."""
        if self._thread.is_alive() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._forget, conversation_id)

    def _begin(self, checkpoint: Checkpoint) -> PreTrainedModel:
        """Take a first set of weights to be the one that is served. Raises `ConfigError`."""
        model, self._served = self._prepared(checkpoint)
        self._shapes = shapes(model)
        return model

    def _prepared(self, checkpoint: Checkpoint) -> tuple[PreTrainedModel, Served]:
        """The model as transformers reads it, and what is served of it. Raises `ConfigError`."""
        path = checkpoint.path.absolute()
        model = load_model(path, "eager", DTYPES[self._dtype])
        return model, self._described(checkpoint, self._folder(path, model))

    def _described(self, checkpoint: Checkpoint, folder: Path) -> Served:
        """What is served of a checkpoint, besides its weights in `folder`. Raises `ConfigError`."""
        path = checkpoint.path.absolute()
        renderer = renderer_of(path, self._chat_template_kwargs)
        ends = tuple(sorted(renderer.stop_ids))
        return Served(renderer, ends, checkpoint.version, path.name, folder)

    def _folder(self, path: Path, model: PreTrainedModel) -> Path:
        """What is read of a checkpoint."""
        return path

    def _schedule(self, work: Coroutine[Any, Any, ResultT]) -> "Future[ResultT]":
        """Have the engine's loop run `work`."""
        if self._over is not None:
            work.close()
            raise PolicyFault(self._over)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        return self._schedule(work).result()

    # From here on: the engine's loop only.

    @abstractmethod
    async def _drawn(self, order: Order) -> Sampled:
        """Sample with the weights that are served; cancelling it aborts it."""

    @abstractmethod
    async def _renew(self, fresh: Served, model: PreTrainedModel) -> None:
        """Put weights in place, and see that they are. `model` is what they are."""

    @abstractmethod
    async def _shut(self) -> None:
        """Let go of what samples."""

    def _ready(self) -> None:
        """Let acts in."""
        self._idle.set()
        self._open.set()

    async def _sample(self, order: Order) -> Sampled:
        while not self._open.is_set():  # once it was, another update may have come first
            await self._open.wait()
        if self._over is not None:
            raise PolicyFault(self._over)
        if order.served is not self._served:
            version = self._served.version
            raise WeightsReplaced(f"the weights were replaced by version {version}: serve a policy of those")
        if order.conversation_id in self._acting:
            raise PolicyFault(f"the conversation {order.conversation_id} acts twice at once")
        task = self._acting[order.conversation_id] = asyncio.create_task(self._drawn(order))
        self._idle.clear()
        try:
            await asyncio.wait([task])
            if task.cancelled():
                raise PolicyFault(self._over or "the conversation was released while it acted")
            return task.result()
        finally:
            task.cancel()
            del self._acting[order.conversation_id]
            if not self._acting:
                self._idle.set()

    def _forget(self, conversation_id: str) -> None:
        if conversation_id in self._acting:
            self._acting[conversation_id].cancel()

    async def _swap(self, fresh: Served, renew: Callable[[], Awaitable[None]]) -> None:
        """Have the weights renewed while nothing is sampled; acts wait meanwhile."""
        if self._changing:
            raise PolicyFault("another update of the weights is under way")
        self._changing = True
        self._open.clear()
        try:
            await self._idle.wait()
            await self._replace(fresh, renew)
        finally:
            self._changing = False
            self._open.set()

    async def _replace(self, fresh: Served, renew: Callable[[], Awaitable[None]]) -> None:
        """Renew the weights; where that fails, nothing is sampled any more, as which ones are in place is not
        known.
        """
        self._served = fresh
        try:
            await renew()
        except AgentEvolError as cause:
            self._over = self._over or str(cause)
            raise
        except BaseException as cause:
            self.lost, self._over = True, f"taking the weights of {fresh.name} failed: {one_line(cause)}"
            raise

    async def _end(self) -> None:
        """End what waits, and shut down."""
        self._open.set()
        acting = list(self._acting.values())
        for task in acting:
            task.cancel()
        if acting:
            await asyncio.wait(acting, timeout=CLOSE_S)
        await asyncio.sleep(0)  # who waited for them hears of it
        await self._shut()
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def event_loop() -> asyncio.AbstractEventLoop:
    """A fast one, where there is one for this platform."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
