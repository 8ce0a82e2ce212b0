"""The vLLM engine: vLLM's asynchronous engine behind the same seam as the embedded one.

Token ids go in and come out, nothing is decoded or encoded by vLLM. What conversations share, and what they
have read before, is found again in vLLM's prefix cache. Weights are reloaded from a checkpoint's folder, and
then compared with transformers (`probe`): an engine that samples with others stops the run.

vLLM computes in processes of its own, which end with this one (`watchdog`).
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agentevol.causal_lm import one_line
from agentevol.engines import probe
from agentevol.engines.limits import context_of
from agentevol.engines.outside import CLOSE_S, OutsideEngine
from agentevol.engines.scheduler import Sampled
from agentevol.engines.untied import untied
from agentevol.engines.vllm_arguments import (
    engine_arguments,
    parameters_of,
    probe_parameters,
    sampled_of,
    vocabulary_size,
)
from agentevol.engines.vllm_capability import Capabilities, capabilities
from agentevol.engines.vllm_policy import Order, Served
from agentevol.engines.watchdog import Watchdog, watching_children
from agentevol.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped
from agentevol.protocols import Checkpoint, Overflow

SETTINGS = {
    "VLLM_NO_USAGE_STATS": "1",  # nothing is reported to anyone
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # as many threads as OMP_NUM_THREADS says, wherever there is time
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork would hold open what tells the watchdog of our end
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # standard output is ours: `ready ...`, or JSON
}
"""What vLLM reads from the environment, unless it is set there already."""


class VllmEngine(OutsideEngine):
    """Serves what vLLM and transformers both know. Raises `ConfigError` where vLLM is missing, too old or
    cannot serve the checkpoint.

    `slots` conversations are sampled at a time. `context` bounds one in tokens; None: the model's own window,
    at most `limits.DEFAULT_CONTEXT`. `cache_gib` is the memory for keys and values; None is room for `slots`
    full conversations on a CPU, and what vLLM finds free on a GPU.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        slots: int = 64,
        context: int | None = None,
        dtype: str = "float32",
        cache_gib: float | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        overflow: Overflow = "truncate",
    ) -> None:
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        self._vllm = self._used()
        super().__init__(dtype, chat_template_kwargs, overflow)
        self._scratch = tempfile.TemporaryDirectory(prefix="agentevol-vllm-", ignore_cleanup_errors=True)
        self._numbers = self._copies = 0  # of requests; of checkpoints
        self._llm: Any = None
        self._watchdog: Watchdog | None = None
        try:
            model = self._begin(checkpoint)
            self.context = context_of(context, getattr(model.config, "max_position_embeddings", None))
            folder, more = self._begun()
            arguments = engine_arguments(
                self._vllm, folder, model, slots, self.context, dtype, cache_gib, more
            )
            self._call(self._start(arguments, model))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End vLLM's processes and free memory; acts that wait raise `PolicyFault`. May be called twice."""
        super().close()
        if self._watchdog is not None:
            self._watchdog.dismiss()
        self._scratch.cleanup()

    def _used(self) -> Capabilities:
        """What is used of vLLM. Raises `ConfigError` where it has less."""
        return capabilities()

    def _begun(self) -> tuple[Path, Mapping[str, Any]]:
        """The folder of weights that vLLM starts with, and further arguments for it."""
        return self._served.folder, {}

    def _folder(self, path: Path, model: PreTrainedModel) -> Path:
        """The checkpoint, or its untied copy."""
        self._copies += 1
        return untied(path, model, Path(self._scratch.name) / str(self._copies) / path.name)

    # From here on: the engine's loop only.

    async def _start(self, arguments: Any, model: PreTrainedModel) -> None:
        self._watchdog = Watchdog()
        try:
            with watching_children(self._watchdog):
                self._llm = self._vllm.AsyncLLM.from_engine_args(arguments)
            await self._completed()
        except Exception as cause:  # vLLM raises whatever it finds wrong with model or machine
            raise ConfigError(
                f"vLLM cannot serve {self._served.name}: {one_line(cause)}; what its processes printed before"
                " says more"
            ) from cause
        try:
            await self._check(self._served, model)
        except PolicyFault as cause:
            raise ConfigError(
                f"vLLM cannot serve {self._served.name}: it failed at the first tokens ({cause}); what its"
                " processes printed before says why"
            ) from cause
        except RunStopped as cause:  # before there is anything to stop
            raise ConfigError(str(cause)) from cause
        self._ready()

    async def _drawn(self, order: Order) -> Sampled:
        self._numbers += 1
        request_id = f"{order.conversation_id}/{self._numbers}"
        return await self._generated(
            request_id, order.prompt_ids, parameters_of(self._vllm, order), order.served
        )

    async def _generated(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        parameters: Any,
        served: Served,
        *,
        counted: bool = True,
    ) -> Sampled:
        """What vLLM samples with these weights. Raises `PolicyFault` where it was aborted or vLLM failed."""
        prompt = self._vllm.tokens_input(list(prompt_ids))
        output = None
        try:
            added = self._added(served)
            async for latest in self._llm.generate(prompt, parameters, request_id, lora_request=added):
                output = latest  # the last one is the whole
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        except Exception as cause:  # whatever vLLM could not do is the engine's failure
            raise PolicyFault(f"vLLM: {one_line(cause)}") from cause
        sampled = sampled_of(output)
        if sampled is None:
            raise PolicyFault(self._over or "vLLM aborted it")
        if counted and output is not None:
            self.counts.read += len(prompt_ids)
            self.counts.cached += output.num_cached_tokens or 0
            self.counts.sampled += len(sampled.token_ids)
        return sampled

    async def _swap(self, fresh: Served, model: PreTrainedModel) -> None:
        before = self._served
        await super()._swap(fresh, model)
        if before.folder.is_relative_to(self._scratch.name):
            shutil.rmtree(before.folder.parent, ignore_errors=True)

    def _added(self, served: Served) -> Any:
        """The adapters of these weights, where vLLM has them apart."""
        return None

    async def _completed(self) -> None:
        """Give vLLM what it needs besides what it started with."""

    async def _taken_in(self, fresh: Served) -> None:
        """Have vLLM read these weights, and forget what the old ones made of tokens."""
        await self._llm.collective_rpc("reload_weights", kwargs={"weights_path": str(fresh.folder)})
        if await self._llm.reset_prefix_cache() is False:
            raise RuntimeError("its prefix cache still holds keys and values of the old weights")

    async def _renew(self, model: PreTrainedModel) -> None:
        await self._in_place(self._served, model)

    async def _in_place(self, fresh: Served, model: PreTrainedModel) -> None:
        """Take weights in, and see whether they are in place."""
        try:
            await self._taken_in(fresh)
            await self._check(fresh, model)
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        except AgentEvolError:
            raise
        except Exception as cause:
            raise RunStopped(f"vLLM did not take the weights of {fresh.name}: {one_line(cause)}") from cause

    async def _check(self, served: Served, model: PreTrainedModel) -> None:
        """Raise `RunStopped` unless vLLM samples with the log-probabilities of `model`."""
        begun = probe.prompts(vocabulary_size(model), self.context)
        parameters = [
            probe_parameters(self._vllm, seed, probe.new_tokens(self.context)) for seed in range(len(begun))
        ]
        sampled = await asyncio.gather(
            *(
                self._generated(
                    f"probe/{served.version}/{row}", prompt, parameters[row], served, counted=False
                )
                for row, prompt in enumerate(begun)
            )
        )
        found = await asyncio.to_thread(probe.gap, model, begun, sampled)  # others may be sampled for
        allowed = probe.TOLERANCES[self._dtype]
        if not found <= allowed:
            raise RunStopped(
                f"vLLM does not sample with the weights of {served.name} (version {served.version}): its"
                f" log-probabilities differ from transformers' by {found:.2g}, rounding by at most"
                f" {allowed:g}; take engine.name=embedded, or another release of vLLM"
            )

    def _died(self) -> PolicyFault:
        self.lost, self._over = True, "vLLM's process died, start another engine"
        return PolicyFault(self._over)

    async def _shut(self) -> None:
        """Shut vLLM down, which answers what waits."""
        if self._llm is not None:
            llm, self._llm = self._llm, None
            llm.shutdown(timeout=CLOSE_S)
