"""vLLM servers that somebody else runs, as one engine: token ids go there and come back over HTTP.

A conversation stays with the server that it began with, whose prefix cache knows it; a new one goes to the
server with the fewest. Each server proves that it samples with the weights that are served (`vllm_remote`)
before it is used, after every update, and when it was away. One that cannot be reached is left alone while
there are others; when none is there, acts wait, and fail after a while: their episodes are played again.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import httpx
from transformers import PreTrainedModel

from agentevol.causal_lm import load_model
from agentevol.engines.endpoint import PATIENCE_S, Endpoint, EndpointFault, Unreachable
from agentevol.engines.limits import check_sampling, context_of
from agentevol.engines.loading import DTYPES, shapes, stop_ids
from agentevol.engines.scheduler import Sampled
from agentevol.engines.vllm import Order, Served, VllmCounts, VllmPolicy, vocabulary_size
from agentevol.engines.vllm_remote import RemoteVllm
from agentevol.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped, WeightsReplaced
from agentevol.protocols import Checkpoint, Overflow, Sampling
from agentevol.rendering import ChatRenderer, load_tokenizer

REDRAWS = 3
"""How often an act is repeated because the weights were changed under it."""
CLOSE_S = 5.0
LOOK_AGAIN_S = 10.0
"""Between looks at a server that is away while there are others."""
ResultT = TypeVar("ResultT")


class VllmServerEngine:
    """Serves a checkpoint by the vLLM servers at `urls`. Raises `ConfigError` where one of them cannot be
    used, and says how it has to be started.

    `updates` says that weights will be replaced: then the servers are given those of `checkpoint` at once,
    else they have to hold them. `slots` conversations are sampled at a time. `context` bounds one in tokens;
    None: what model and servers take, at most `limits.DEFAULT_CONTEXT`. `dtype` is what the servers compute
    in. What waits for a server that is away fails after `patience_s`, and the engine is lost when all have
    been away for as long again.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        urls: Sequence[str],
        *,
        updates: bool,
        key: str | None = None,
        slots: int = 64,
        context: int | None = None,
        dtype: str = "float32",
        chat_template_kwargs: Mapping[str, Any] | None = None,
        overflow: Overflow = "truncate",
        patience_s: float = PATIENCE_S,
        transports: Sequence[httpx.AsyncBaseTransport | None] | None = None,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._updates, self._dtype = updates, dtype
        self._chat_template_kwargs = chat_template_kwargs
        self.overflow: Overflow = overflow
        model, self._served = self._prepared(checkpoint)
        self._shapes = shapes(model)
        self.counts = VllmCounts()
        self.context = 0
        self.lost = False
        self._over: str | None = None  # why nothing is served any more
        self._acting: dict[str, asyncio.Task[Sampled]] = {}
        self._looking: dict[RemoteVllm, asyncio.Task[None]] = {}
        self._looked = 0.0
        self._open, self._idle = asyncio.Event(), asyncio.Event()  # while no update; while nothing is sampled
        self._searching = asyncio.Lock()
        self._servers = [
            RemoteVllm(
                Endpoint(
                    url, key, connections=slots + 8, patience_s=patience_s, transport=transport, pause=pause
                ),
                vocabulary=vocabulary_size(model),
                dtype=dtype,
                updates=updates,
            )
            for url, transport in zip(urls, transports or [None] * len(urls), strict=True)
        ]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm-servers", daemon=True)
        self._thread.start()
        try:
            self._call(self._start(model, context))
        except BaseException:
            self.close()
            raise

    def serve(self, sampling: Sampling) -> VllmPolicy:
        """A policy over the current weights. Raises `ConfigError` for a sampling out of range."""
        check_sampling(sampling)
        return VllmPolicy(self, self._served, sampling)

    def update(self, checkpoint: Checkpoint) -> None:
        """Have the servers take these weights once the acts under way are through; blocks until then.

        Policies of the weights before raise `PolicyFault` from then on. Raises `ConfigError` for a folder
        that cannot be read or holds another architecture (the old weights stay), `PolicyFault` where the
        engine is over or all servers are away, and `RunStopped` where one does not sample with the new
        weights: then the engine is over.
        """
        if not self._updates:
            raise ConfigError("this engine serves one set of weights")
        model, fresh = self._prepared(checkpoint)
        if shapes(model) != self._shapes:
            raise ConfigError(
                f"the checkpoint {checkpoint.path} is of another architecture than {self._served.name}"
            )
        self._call(self._swap(fresh, model))

    def close(self) -> None:
        """Let go of the servers; acts that wait raise `PolicyFault`. May be called twice."""
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
        """Abort what a conversation waits for, and forget where it is; unknown ones are ignored."""
        if self._thread.is_alive() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._forget, conversation_id)

    def _prepared(self, checkpoint: Checkpoint) -> tuple[PreTrainedModel, Served]:
        """The model as transformers reads it, and what is served of it. Raises `ConfigError`."""
        path = checkpoint.path.absolute()
        if self._dtype not in DTYPES:
            raise ConfigError(f"no dtype named {self._dtype!r}; there are: {', '.join(DTYPES)}")
        model = load_model(path, "eager", DTYPES[self._dtype])
        renderer = ChatRenderer(load_tokenizer(path), self._chat_template_kwargs)
        ends = tuple(sorted(stop_ids(path, renderer)))
        return model, Served(renderer, ends, checkpoint.version, path.name, path)

    def _schedule(self, work: Coroutine[Any, Any, ResultT]) -> "Future[ResultT]":
        """Have the engine's loop run `work`."""
        if self._over is not None:
            work.close()
            raise PolicyFault(self._over)
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _call(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        return self._schedule(work).result()

    # From here on: the engine's loop only.

    async def _start(self, model: PreTrainedModel, context: int | None) -> None:
        try:
            windows = await asyncio.gather(*(server.window() for server in self._servers))
            self.context = _context(model, context, [window for window in windows if window])
            for server in self._servers:
                server.context = self.context
            await asyncio.gather(*(server.take_in(self._served, model) for server in self._servers))
        except (PolicyFault, RunStopped) as cause:  # before there is anything to stop
            raise ConfigError(f"engine.url: {cause}") from cause
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

    async def _drawn(self, order: Order) -> Sampled:
        """What the conversation's server samples with the weights that are served."""
        for _ in range(REDRAWS):
            server = await self._place(order.conversation_id)
            mark = server.mark
            try:
                found = await server.complete(
                    order.conversation_id, order.prompt_ids, order.sampling, order.seed, order.served.stop_ids
                )
                if await server.still_holds(mark):
                    self.counts.read += len(order.prompt_ids)
                    self.counts.sampled += len(found.token_ids)
                    return found
                await server.take_in(order.served, unless_after=mark)
            except Unreachable:
                server.up = False
                raise
            except (ConfigError, RunStopped) as cause:  # it is there, and cannot be used
                self._over = str(cause)
                raise
        raise PolicyFault("others change the weights of the servers: each is for one run at a time")

    async def _place(self, conversation_id: str) -> RemoteVllm:
        """The server of a conversation; a new one goes where the fewest are."""
        there = [server for server in self._servers if server.up]
        for server in there:
            if conversation_id in server.conversations:
                return server
        self._forget_place(conversation_id)  # of one that is away: another can read it from its beginning
        if not there:
            await self._find_again()
            there = [server for server in self._servers if server.up]
        elif len(there) < len(self._servers):
            self._look_again()
        server = min(there, key=lambda candidate: len(candidate.conversations))
        server.conversations.add(conversation_id)
        return server

    def _forget_place(self, conversation_id: str) -> None:
        for server in self._servers:
            server.conversations.discard(conversation_id)

    def _forget(self, conversation_id: str) -> None:
        self._forget_place(conversation_id)
        if conversation_id in self._acting:
            self._acting[conversation_id].cancel()

    def _look_again(self) -> None:
        """Look at servers that are away from time to time, beside what is going on."""
        if time.monotonic() - self._looked < LOOK_AGAIN_S:
            return
        self._looked = time.monotonic()
        for server in self._servers:
            if not server.up and (server not in self._looking or self._looking[server].done()):
                self._looking[server] = asyncio.create_task(self._return(server))

    async def _return(self, server: RemoteVllm) -> None:
        """Take a server in that was away, if it is back."""
        try:
            await server.take_in(self._served)
        except EndpointFault:
            return
        except AgentEvolError as cause:  # it is there, and cannot be used
            self._over = str(cause)

    async def _find_again(self) -> None:
        """Wait until a server is back. Raises `PolicyFault`, and is lost, where none is for long."""
        async with self._searching:
            if self._over is None and not any(server.up for server in self._servers):
                await asyncio.gather(*(self._return(server) for server in self._servers))
            if self._over is None and not any(server.up for server in self._servers):
                self.lost, self._over = True, self._away()
            if self._over is not None:
                raise PolicyFault(self._over)

    def _away(self) -> str:
        return f"no vLLM server answers any more: {', '.join(s.endpoint.url for s in self._servers)}"

    async def _swap(self, fresh: Served, model: PreTrainedModel) -> None:
        if not self._open.is_set():
            raise PolicyFault("another update of the weights is under way")
        self._open.clear()
        try:
            await self._idle.wait()
            self._served = fresh
            await self._renew(model)
        except AgentEvolError as cause:
            self._over = self._over or str(cause)
            raise
        finally:
            self._open.set()

    async def _renew(self, model: PreTrainedModel) -> None:
        """Give all servers the weights; one that is away gets them when it is back."""
        for server in self._servers:
            server.up = False
        results = await asyncio.gather(
            *(server.take_in(self._served, model) for server in self._servers), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, Unreachable):
                raise result
        if not any(server.up for server in self._servers):
            self.lost = True
            raise PolicyFault(self._away())

    async def _end(self) -> None:
        """End what waits."""
        self._open.set()
        acting = list(self._acting.values())
        for task in acting:
            task.cancel()
        if acting:
            await asyncio.wait(acting, timeout=CLOSE_S)
        await asyncio.sleep(0)  # who waited for them hears of it
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for server in self._servers:
            await server.endpoint.close()


def _context(model: PreTrainedModel, wanted: int | None, windows: Sequence[int]) -> int:
    """Tokens of a conversation that model and servers take. Raises `ConfigError`."""
    asked = context_of(wanted, getattr(model.config, "max_position_embeddings", None))
    least = min([asked, *windows])
    if wanted is not None and wanted > least:
        raise ConfigError(
            f"engine.context = {wanted} exceeds the {least} tokens of a server: --max-model-len"
        )
    return least
