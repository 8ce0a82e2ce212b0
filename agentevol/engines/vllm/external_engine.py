"""Base class of engines that sample outside this process: in vLLM's processes, or on servers.

A separate thread runs the event loop of all communication with them; requests come in from any other loop, so
that `update` can block. Requests wait during a weight update, and a weight update waits for the running
requests.
"""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from transformers import PreTrainedModel

from agentevol.core.errors import AgentEvolError, ConfigError, PolicyFault, WeightsReplaced, one_line
from agentevol.core.protocols import Checkpoint, Overflow, Sampling
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.policy import Order, Served, VllmCounts, VllmPolicy
from agentevol.models.causal_lm import DTYPES, load_model, shapes
from agentevol.models.limits import check_sampling
from agentevol.models.rendering import renderer_of

CLOSE_S = 5.0
"""Seconds that running requests may take to end."""
ResultT = TypeVar("ResultT")


class OutsideEngine(ABC):
    """Engine that serves one set of weights at a time. A subclass samples, replaces weights and shuts
    down.
    """

    context: int
    """Maximum tokens of a prompt and its completion."""

    def __init__(
        self, dtype: str, chat_template_kwargs: Mapping[str, Any] | None, overflow: Overflow
    ) -> None:
        if dtype not in DTYPES:
            raise ConfigError(f"no dtype named {dtype!r}; there are: {', '.join(DTYPES)}")
        self._dtype, self._chat_template_kwargs = dtype, chat_template_kwargs
        self.overflow: Overflow = overflow
        self.counts = VllmCounts()
        self.lost = False
        self._over: str | None = None  # reason for which the engine serves no more requests
        self._changing = False  # true during a weight update
        self._acting: dict[str, asyncio.Task[Sampled]] = {}
        self._open, self._idle = asyncio.Event(), asyncio.Event()  # set outside updates; set when idle
        self._loop = event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__, daemon=True)
        self._thread.start()

    def serve(self, sampling: Sampling) -> VllmPolicy:
        """Return a policy over the current weights. Raises `ConfigError` for a sampling out of range."""
        check_sampling(sampling)
        return VllmPolicy(self, self._served, sampling)

    def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights once all running requests are complete; blocks until then.

        Policies of the previous weights raise `WeightsReplaced` from then on. Raises `ConfigError` for a
        folder that cannot be read or holds another architecture (the old weights stay), `PolicyFault` where
        the engine has stopped, and `RunStopped` where it does not sample with the new weights: then it has
        stopped.
        """
        model, fresh = self._prepared(checkpoint)
        if shapes(model) != self._shapes:
            raise ConfigError(
                f"the checkpoint {checkpoint.path} is of another architecture than {self._served.name}"
            )
        self._call(self._swap(fresh, lambda: self._renew(fresh, model)))

    def close(self) -> None:
        """Abort all requests, whose callers get a `PolicyFault`, and release all resources. May be called
        twice.
        """
        self._over = self._over or "the engine is closed"
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def submit(self, order: Order) -> "Future[Sampled]":
        """Begin to sample. Cancelling the reply aborts it. Raises `PolicyFault` where the engine has
        stopped.
        """
        return self._schedule(self._sample(order))

    def release(self, conversation_id: str) -> None:
        """Abort a conversation's pending request; an unknown conversation is ignored."""
        if self._thread.is_alive() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._forget, conversation_id)

    def _begin(self, checkpoint: Checkpoint) -> PreTrainedModel:
        """Accept the first set of weights as the served one. Raises `ConfigError`."""
        model, self._served = self._prepared(checkpoint)
        self._shapes = shapes(model)
        return model

    def _prepared(self, checkpoint: Checkpoint) -> tuple[PreTrainedModel, Served]:
        """The model as transformers loads it, and the description of the weights to serve. Raises
        `ConfigError`.
        """
        path = checkpoint.path.absolute()
        model = load_model(path, "eager", DTYPES[self._dtype])
        return model, self._described(checkpoint, self._folder(path, model))

    def _described(self, checkpoint: Checkpoint, folder: Path) -> Served:
        """Description of a checkpoint to serve, besides its weights in `folder`. Raises `ConfigError`."""
        path = checkpoint.path.absolute()
        renderer = renderer_of(path, self._chat_template_kwargs)
        ends = tuple(sorted(renderer.stop_ids))
        return Served(renderer, ends, checkpoint.version, path.name, folder)

    def _folder(self, path: Path, model: PreTrainedModel) -> Path:
        """Folder from which a checkpoint's weights are loaded."""
        return path

    def _schedule(self, work: Coroutine[Any, Any, ResultT]) -> "Future[ResultT]":
        """Run `work` in the engine's event loop."""
        if self._over is not None:
            work.close()
            raise PolicyFault(self._over)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        return self._schedule(work).result()

    # Everything below runs in the engine's event loop only.

    @abstractmethod
    async def _drawn(self, order: Order) -> Sampled:
        """Sample with the served weights; cancelling it aborts the request."""

    @abstractmethod
    async def _renew(self, fresh: Served, model: PreTrainedModel) -> None:
        """Load the new weights and verify them. `model` is their reference in transformers."""

    @abstractmethod
    async def _shut(self) -> None:
        """Release the resources of the sampler."""

    def _ready(self) -> None:
        """Allow requests."""
        self._idle.set()
        self._open.set()

    async def _sample(self, order: Order) -> Sampled:
        while not self._open.is_set():  # after one wake-up, another update may have begun first
            await self._open.wait()
        if self._over is not None:
            raise PolicyFault(self._over)
        if order.served is not self._served:
            version = self._served.version
            raise WeightsReplaced(f"the weights were replaced by version {version}: serve a policy of those")
        if order.conversation_id in self._acting:
            raise PolicyFault(f"the conversation {order.conversation_id} has two calls at once")
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
        """Update the weights while nothing is sampled; requests wait meanwhile."""
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
        """Update the weights; where that fails, the engine stops, as it is unknown which weights are in
        place.
        """
        self._served = fresh
        try:
            await renew()
        except AgentEvolError as cause:
            self._over = self._over or str(cause)
            raise
        except BaseException as cause:
            self.lost, self._over = True, f"loading the weights of {fresh.name} failed: {one_line(cause)}"
            raise

    async def _end(self) -> None:
        """Fail all pending requests and shut down."""
        self._open.set()
        acting = list(self._acting.values())
        for task in acting:
            task.cancel()
        if acting:
            await asyncio.wait(acting, timeout=CLOSE_S)
        await asyncio.sleep(0)  # the waiting callers get their error
        await self._shut()
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def event_loop() -> asyncio.AbstractEventLoop:
    """A fast event loop, where one exists for this platform."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
