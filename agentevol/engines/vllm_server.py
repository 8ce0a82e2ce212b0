"""vLLM servers that somebody else runs, as one engine: token ids go there and come back over HTTP.

A conversation stays with the server that it began with, whose prefix cache knows it; a new one goes to the
server with the fewest. Each server proves that it samples with the weights that are served (`vllm_remote`)
before it is used, after every update, and when it was away. One that cannot be reached is left alone while
there are others; when none is there, acts wait, and fail after a while: their episodes are played again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import httpx
from transformers import PreTrainedModel

from agentevol.engines.endpoint import PATIENCE_S, Endpoint, EndpointFault, Unreachable
from agentevol.engines.limits import context_of
from agentevol.engines.outside import OutsideEngine
from agentevol.engines.scheduler import Sampled
from agentevol.engines.vllm_arguments import vocabulary_size
from agentevol.engines.vllm_policy import Order, Served
from agentevol.engines.vllm_remote import RemoteVllm
from agentevol.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped
from agentevol.protocols import Checkpoint, Overflow

REDRAWS = 3
"""How often an act is repeated because the weights were changed under it."""
LOOK_AGAIN_S = 10.0
"""Between looks at a server that is away while there are others."""


class VllmServerEngine(OutsideEngine):
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
        """Have the servers take these weights. Raises what `OutsideEngine.update` does, `ConfigError` for an
        engine without updates, and `PolicyFault` where all servers are away.
        """
        if not self._updates:
            raise ConfigError("this engine serves one set of weights")
        super().update(checkpoint)

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
        super()._forget(conversation_id)

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

    async def _renew(self, fresh: Served, model: PreTrainedModel) -> None:
        """Give all servers the weights; one that is away gets them when it is back."""
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
    """Tokens of a conversation that model and servers take. Raises `ConfigError`."""
    asked = context_of(wanted, getattr(model.config, "max_position_embeddings", None))
    least = min([asked, *windows])
    if wanted is not None and wanted > least:
        raise ConfigError(
            f"engine.context = {wanted} exceeds the {least} tokens of a server: --max-model-len"
        )
    return least
