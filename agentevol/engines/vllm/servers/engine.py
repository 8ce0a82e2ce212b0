"""Engine over one or several vLLM servers of third parties: token ids in and out over HTTP.

A conversation stays with its first server, whose prefix cache holds its turns; a new one goes to the server
with the fewest conversations. Each server is verified to sample with the served weights (`client`)
before it is used, after every update, and after an outage. An unreachable server is skipped while there are
others; when none is reachable, requests wait, and fail after a while: their episodes are played again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import httpx
from transformers import PreTrainedModel

from agentevol.core.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped
from agentevol.core.protocols import Checkpoint, Overflow
from agentevol.engines.endpoint import PATIENCE_S, Endpoint, EndpointFault, Unreachable
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.arguments import vocabulary_size
from agentevol.engines.vllm.external_engine import OutsideEngine
from agentevol.engines.vllm.policy import Order, Served
from agentevol.engines.vllm.servers.client import RemoteVllm
from agentevol.models.limits import context_of

REDRAWS = 3
"""Maximum repeats of a request whose weights were changed while it ran."""
LOOK_AGAIN_S = 10.0
"""Seconds between checks of an unreachable server while there are others."""


class VllmServerEngine(OutsideEngine):
    """Serves a checkpoint by the vLLM servers at `urls`. Raises `ConfigError` where one of them cannot be
    used; the message says how it has to be started.

    `updates` says that weights will be replaced: then the servers get those of `checkpoint` at once, else
    they have to hold them. `slots` conversations are sampled at a time. `context` bounds one in tokens; None:
    the limit of model and servers, at most `limits.DEFAULT_CONTEXT`. `dtype` is the servers' precision. A
    request that waits for an unreachable server fails after `patience_s`, and the engine fails when all have
    been unreachable for as long again.
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
        super().__init__(dtype, chat_template_kwargs, overflow)
        self._updates = updates
        self._looking: dict[RemoteVllm, asyncio.Task[None]] = {}
        self._looked = 0.0
        self._searching = asyncio.Lock()
        self._servers: list[RemoteVllm] = []
        self.context = 0
        try:
            model = self._begin(checkpoint)
            self._servers += [
                RemoteVllm(
                    Endpoint(
                        url,
                        key,
                        connections=slots + 8,
                        patience_s=patience_s,
                        transport=transport,
                        pause=pause,
                    ),
                    vocabulary=vocabulary_size(model),
                    dtype=dtype,
                    updates=updates,
                )
                for url, transport in zip(urls, transports or [None] * len(urls), strict=True)
            ]
            self._call(self._start(model, context))
        except BaseException:
            self.close()
            raise

    def update(self, checkpoint: Checkpoint) -> None:
        """Have the servers load these weights. Raises the errors of `OutsideEngine.update`, `ConfigError` for
        an engine without updates, and `PolicyFault` where all servers are unreachable.
        """
        if not self._updates:
            raise ConfigError("this engine serves one set of weights")
        super().update(checkpoint)

    # Everything below runs in the engine's event loop only.

    async def _start(self, model: PreTrainedModel, context: int | None) -> None:
        try:
            windows = await asyncio.gather(*(server.window() for server in self._servers))
            self.context = _context(model, context, [window for window in windows if window])
            for server in self._servers:
                server.context = self.context
            await asyncio.gather(*(server.take_in(self._served, model) for server in self._servers))
        except (PolicyFault, RunStopped) as cause:  # before there is anything to stop
            raise ConfigError(f"engine.url: {cause}") from cause
        self._ready()

    async def _drawn(self, order: Order) -> Sampled:
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
            except (ConfigError, RunStopped) as cause:  # reachable, but it cannot be used
                self._over = str(cause)
                raise
        raise PolicyFault("another client changes the weights of the servers: each is for one run at a time")

    async def _place(self, conversation_id: str) -> RemoteVllm:
        """Server of a conversation; a new one goes to the server with the fewest."""
        there = [server for server in self._servers if server.up]
        for server in there:
            if conversation_id in server.conversations:
                return server
        self._forget_place(conversation_id)  # unreachable: another server can read it anew
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
        super()._forget(conversation_id)

    def _look_again(self) -> None:
        """Check unreachable servers from time to time, in the background."""
        if time.monotonic() - self._looked < LOOK_AGAIN_S:
            return
        self._looked = time.monotonic()
        for server in self._servers:
            if not server.up and (server not in self._looking or self._looking[server].done()):
                self._looking[server] = asyncio.create_task(self._return(server))

    async def _return(self, server: RemoteVllm) -> None:
        """Admit a server again that was unreachable, if it is back."""
        try:
            await server.take_in(self._served)
        except EndpointFault:
            return
        except AgentEvolError as cause:  # reachable, but it cannot be used
            self._over = str(cause)

    async def _find_again(self) -> None:
        """Wait until a server is back. Raises `PolicyFault`, and the engine fails, where none comes back for
        long.
        """
        async with self._searching:
            if self._over is None and not any(server.up for server in self._servers):
                await asyncio.gather(*(self._return(server) for server in self._servers))
            if self._over is None and not any(server.up for server in self._servers):
                self.lost, self._over = True, self._away()
            if self._over is not None:
                raise PolicyFault(self._over)

    def _away(self) -> str:
        return f"no vLLM server answers any more: {', '.join(s.endpoint.url for s in self._servers)}"

    async def _renew(self, fresh: Served, model: PreTrainedModel) -> None:
        """Update the weights of all servers; an unreachable one gets them when it is back."""
        for server in self._servers:
            server.up = False
        results = await asyncio.gather(
            *(server.take_in(fresh, model) for server in self._servers), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, Unreachable):
                raise result
        if not any(server.up for server in self._servers):
            self.lost = True
            raise PolicyFault(self._away())

    async def _shut(self) -> None:
        for server in self._servers:
            await server.endpoint.close()


def _context(model: PreTrainedModel, wanted: int | None, windows: Sequence[int]) -> int:
    """Maximum tokens of a conversation that model and servers accept. Raises `ConfigError`."""
    asked = context_of(wanted, getattr(model.config, "max_position_embeddings", None))
    least = min([asked, *windows])
    if wanted is not None and wanted > least:
        raise ConfigError(
            f"engine.context = {wanted} exceeds the {least} tokens of a server: --max-model-len"
        )
    return least
