"""The vLLM engine: vLLM's asynchronous engine behind the same seam as the embedded one.

Token ids go in and come out, nothing is decoded or encoded by vLLM. What conversations share, and what they
have read before, is found again in vLLM's prefix cache. Weights are reloaded from a checkpoint's folder, and
then compared with transformers (`probe`): an engine that samples with others stops the run. Or the learner's
process sends them (`receive`, `deliver`; `vllm_sending`). Where the two share a GPU, vLLM sleeps meanwhile.

vLLM computes in processes of its own, which end with this one (`watchdog`).
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agentevol.engines import probe, vllm_transfer
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
from agentevol.engines.vllm_transfer import Step
from agentevol.engines.watchdog import Watchdog, watching_children
from agentevol.errors import (
    AgentEvolError,
    ConfigError,
    PolicyFault,
    RunStopped,
    TransferFailed,
    one_line,
)
from agentevol.protocols import Checkpoint, Overflow, Transfer

SETTINGS = {
    "VLLM_NO_USAGE_STATS": "1",  # nothing is reported to anyone
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # as many threads as OMP_NUM_THREADS says, wherever there is time
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork would hold open what tells the watchdog of our end
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # standard output is ours: `ready ...`, or JSON
}
"""What vLLM reads from the environment, unless it is set there already."""


DISCARD, KEEP = 2, 1
"""How deep vLLM sleeps: weights are read or sent again, or wait in the machine's memory."""


class VllmEngine(OutsideEngine):
    """Serves what vLLM and transformers both know. Raises `ConfigError` where vLLM is missing, too old or
    cannot serve the checkpoint.

    `slots` conversations are sampled at a time. `context` bounds one in tokens; None: the model's own window,
    at most `limits.DEFAULT_CONTEXT`. `tensor_parallel` GPUs, or processes on a CPU, hold the weights
    together. `cache_gib` is the memory of each for keys and values; None is room for `slots` full
    conversations on a CPU, and what vLLM finds free on a GPU. `transfer` is how weights come that are
    received (`vllm_transfer`); `colocated` says that others compute on the same GPU while this one sleeps.
    """

    _sleep_level = DISCARD

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        slots: int = 64,
        context: int | None = None,
        dtype: str = "float32",
        tensor_parallel: int = 1,
        cache_gib: float | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        overflow: Overflow = "truncate",
        transfer: Transfer = "disk",
        colocated: bool = False,
    ) -> None:
        for name, value in (SETTINGS | vllm_transfer.SETTINGS[transfer]).items():
            os.environ.setdefault(name, value)
        self._vllm = self._used()
        super().__init__(dtype, chat_template_kwargs, overflow)
        self._scratch = tempfile.TemporaryDirectory(prefix="agentevol-vllm-", ignore_cleanup_errors=True)
        self._numbers = self._copies = 0  # of requests; of checkpoints
        self._llm: Any = None
        self._watchdog: Watchdog | None = None
        self._receiving, self._received = asyncio.Event(), asyncio.Event()
        self._asleep = False
        try:
            model = self._begin(checkpoint)
            self.context = context_of(context, getattr(model.config, "max_position_embeddings", None))
            self._vocabulary = vocabulary_size(model)
            folder, own = self._begun()
            more = vllm_transfer.arguments(transfer, colocated and not self._vllm.on_cpu) | own
            arguments = engine_arguments(
                self._vllm, folder, model, slots, self.context, dtype, cache_gib, tensor_parallel, more
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

    def receive(self, checkpoint: Checkpoint) -> None:
        """Swap the weights, as `update` does, for those that come by `deliver`; blocks until acts are let in.

        Raises what `update` does, and `TransferFailed`.
        """
        fresh = self._described(checkpoint, checkpoint.path.absolute())
        self._call(self._swap(fresh, self._take_in))

    def deliver(self, step: Step, given: Any = None) -> Any:
        """One step of what is received, once acts under way have ended; blocks until it is done.

        Raises `TransferFailed` where vLLM cannot do it: then what is received is of no use, nor the engine.
        """
        return self._call(self._delivered(step, given))

    def sleep(self) -> None:
        """Give the GPU's memory free once acts under way are through; others wait for the next weights."""
        self._call(self._lie_down())

    def _used(self) -> Capabilities:
        """What is used of vLLM. Raises `ConfigError` where it has less."""
        return capabilities()

    def _begun(self) -> tuple[Path, dict[str, Any]]:
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

    async def _swap(self, fresh: Served, renew: Callable[[], Awaitable[None]]) -> None:
        before = self._served
        await super()._swap(fresh, renew)
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
        await self._forget_tokens()

    async def _renew(self, fresh: Served, model: PreTrainedModel) -> None:
        """Take weights in, and see whether they are in place."""
        try:
            await self._wake("weights")
            await self._taken_in(fresh)
            await self._check(fresh, model)
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        except AgentEvolError:
            raise
        except Exception as cause:
            raise RunStopped(f"vLLM did not take the weights of {fresh.name}: {one_line(cause)}") from cause

    async def _take_in(self) -> None:
        """Let the steps of an update in, until one admits acts or fails."""
        await self._wake("weights")
        self._received.clear()
        self._receiving.set()
        try:
            await self._received.wait()
        finally:
            self._receiving.clear()
        if self._over is not None:
            raise TransferFailed(self._over)

    async def _delivered(self, step: Step, given: Any) -> Any:
        await self._receiving.wait()
        try:
            if step == "admit":
                self._received.set()
            elif step == "probe":
                await self._forget_tokens()
                return await self._probed(self._served)
            else:
                await self._llm.collective_rpc(step, kwargs=vllm_transfer.named(step, given))
        except Exception as cause:
            if isinstance(cause, self._vllm.EngineDeadError):
                self._died()
            self._over = self._over or f"weights did not arrive: {one_line(cause)}"
            self._received.set()
            raise TransferFailed(self._over) from cause

    async def _lie_down(self) -> None:
        if self._asleep:
            return
        self._open.clear()
        await self._idle.wait()
        try:
            await self._llm.sleep(level=self._sleep_level)
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        self._asleep = True

    async def _wake(self, part: str) -> None:
        """Take memory again for `weights`, then for `kv_cache`."""
        if self._asleep:
            await self._llm.wake_up(tags=[part])
            self._asleep = part == "weights"

    async def _forget_tokens(self) -> None:
        """Have room for keys and values again, and none of the old weights."""
        await self._wake("kv_cache")
        if await self._llm.reset_prefix_cache() is False:
            raise RuntimeError("its prefix cache still holds keys and values of the old weights")

    async def _check(self, served: Served, model: PreTrainedModel) -> None:
        """Raise `RunStopped` unless vLLM samples with the log-probabilities of `model`."""
        probed = await self._probed(served)
        begun, sampled = [prompt for prompt, _ in probed], [sample for _, sample in probed]
        checkpoint = Checkpoint(Path(served.name), served.version)
        await asyncio.to_thread(  # others may be sampled for
            probe.check, model, begun, sampled, self._dtype, checkpoint
        )

    async def _probed(self, served: Served) -> list[tuple[list[int], Sampled]]:
        """The probe's prompts, and what is sampled after them."""
        begun = probe.prompts(self._vocabulary, self.context)
        count = probe.new_tokens(self.context)
        sampled = await asyncio.gather(
            *(
                self._generated(
                    f"probe/{served.version}/{row}",
                    prompt,
                    probe_parameters(self._vllm, row, count),
                    served,
                    counted=False,
                )
                for row, prompt in enumerate(begun)
            )
        )
        return list(zip(begun, sampled, strict=True))

    def _died(self) -> PolicyFault:
        self.lost, self._over = True, "vLLM's process died, start another engine"
        return PolicyFault(self._over)

    async def _shut(self) -> None:
        """Shut vLLM down, which answers what waits."""
        if self._llm is not None:
            llm, self._llm = self._llm, None
            llm.shutdown(timeout=CLOSE_S)
