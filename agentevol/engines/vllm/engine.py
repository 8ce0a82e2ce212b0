"""vLLM engine: vLLM's asynchronous engine with the interface of the embedded one.

Input and output are token ids; vLLM decodes and encodes nothing. Prefixes shared between conversations and
turns are found in vLLM's prefix cache. Weights are reloaded from a checkpoint's folder and then compared with
transformers (`weights.verification`): an engine that samples with other weights stops the run.
Alternatively the learner's process sends them (`receive`, `deliver`; `weights.sender`). Where the two
share a GPU, vLLM sleeps while the learner trains.

vLLM computes in separate processes (`process`). Requests are `generation`'s, and the steps of a transfer
`weights.receiver`'s.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agentevol.core.errors import (
    AgentEvolError,
    ConfigError,
    PolicyFault,
    RunStopped,
    TransferFailed,
    one_line,
)
from agentevol.core.protocols import Checkpoint, Overflow, Transfer
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.arguments import engine_arguments, vocabulary_size
from agentevol.engines.vllm.capabilities import Capabilities, capabilities
from agentevol.engines.vllm.external_engine import OutsideEngine
from agentevol.engines.vllm.generation import Generation
from agentevol.engines.vllm.policy import Order, Served
from agentevol.engines.vllm.process import SETTINGS, VllmProcess
from agentevol.engines.vllm.sleep_mode import DISCARD, SleepMode
from agentevol.engines.vllm.weights import transfer_modes, verification
from agentevol.engines.vllm.weights.output_embeddings import untied
from agentevol.engines.vllm.weights.receiver import Receiver
from agentevol.engines.vllm.weights.transfer_modes import Step
from agentevol.models.limits import context_of


class VllmEngine(OutsideEngine):
    """Engine for architectures that both vLLM and transformers support. Raises `ConfigError` where vLLM is
    missing, too old or cannot serve the checkpoint.

    `slots` conversations are sampled at a time. `context` bounds one in tokens; None: the model's own window,
    at most `limits.DEFAULT_CONTEXT`. `tensor_parallel` GPUs, or processes on a CPU, hold the weights
    together. `cache_gib` is the memory of each for keys and values; None is room for `slots` full
    conversations on a CPU, and the memory that vLLM finds free on a GPU. `transfer` is the way in which
    received weights are transferred (`weights.transfer_modes`); `colocated` says that a learner computes
    on the same GPU while this engine sleeps.
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
        for name, value in (SETTINGS | transfer_modes.SETTINGS[transfer]).items():
            os.environ.setdefault(name, value)
        self._vllm = self._used()
        super().__init__(dtype, chat_template_kwargs, overflow)
        self._scratch = tempfile.TemporaryDirectory(prefix="agentevol-vllm-", ignore_cleanup_errors=True)
        self._copies = 0  # of checkpoints
        self._process = VllmProcess(self._vllm, self._died)
        self._generation = Generation(self._vllm, self._process, self.counts, self._added, lambda: self._over)
        self._sleep_mode = SleepMode(self._process, self._sleep_level)
        self._receiver = Receiver(self._process, self._probed)
        try:
            model = self._begin(checkpoint)
            self.context = context_of(context, getattr(model.config, "max_position_embeddings", None))
            self._vocabulary = vocabulary_size(model)
            folder, own = self._begun()
            more = transfer_modes.arguments(transfer, colocated and not self._vllm.on_cpu) | own
            arguments = engine_arguments(
                self._vllm, folder, model, slots, self.context, dtype, cache_gib, tensor_parallel, more
            )
            self._call(self._start(arguments, model))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End vLLM's processes and free memory; pending requests raise `PolicyFault`. May be called twice."""
        super().close()
        self._process.dismiss()
        self._scratch.cleanup()

    def receive(self, checkpoint: Checkpoint) -> None:
        """Swap the weights, as `update` does, for those that `deliver` transfers; blocks until requests are
        admitted.

        Raises the errors of `update`, and `TransferFailed`.
        """
        fresh = self._described(checkpoint, checkpoint.path.absolute())
        self._call(self._swap(fresh, self._take_in))

    def deliver(self, step: Step, given: Any = None) -> Any:
        """Run one step of a weight transfer, once running requests have ended; blocks until it is done.

        Raises `TransferFailed` where vLLM cannot do it: then neither the received weights nor the engine can
        be used.
        """
        return self._call(self._delivered(step, given))

    def sleep(self) -> None:
        """Free the GPU's memory once running requests are complete; further requests wait for the next
        weights.
        """
        self._call(self._lie_down())

    def _used(self) -> Capabilities:
        """The parts of vLLM in use. Raises `ConfigError` where some are missing."""
        return capabilities()

    def _begun(self) -> tuple[Path, dict[str, Any]]:
        """Folder of the weights that vLLM starts with, and further arguments for it."""
        return self._served.folder, {}

    def _folder(self, path: Path, model: PreTrainedModel) -> Path:
        """The checkpoint, or its copy with separate output embeddings."""
        self._copies += 1
        return untied(path, model, Path(self._scratch.name) / str(self._copies) / path.name)

    # Everything below runs in the engine's event loop only.

    async def _start(self, arguments: Any, model: PreTrainedModel) -> None:
        try:
            self._process.start(arguments)
            await self._completed()
        except Exception as cause:  # vLLM raises any type for a model or machine that it cannot use
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
        return await self._generation.sample(order)

    async def _swap(self, fresh: Served, renew: Callable[[], Awaitable[None]]) -> None:
        before = self._served
        await super()._swap(fresh, renew)
        if before.folder.is_relative_to(self._scratch.name):
            shutil.rmtree(before.folder.parent, ignore_errors=True)

    def _added(self, served: Served) -> Any:
        """LoRA request for the adapters of these weights, where vLLM serves adapters."""
        return None

    async def _completed(self) -> None:
        """Load into vLLM the parts that it did not start with."""

    async def _taken_in(self, fresh: Served) -> None:
        """Have vLLM load these weights, and clear the keys and values of the old ones."""
        await self._process.load(fresh.folder)
        await self._forget_tokens()

    async def _renew(self, fresh: Served, model: PreTrainedModel) -> None:
        """Load the new weights and verify that they are in place."""
        try:
            await self._sleep_mode.wake("weights")
            await self._taken_in(fresh)
            await self._check(fresh, model)
        except AgentEvolError:
            raise
        except Exception as cause:
            raise RunStopped(f"vLLM did not load the weights of {fresh.name}: {one_line(cause)}") from cause

    async def _take_in(self) -> None:
        """Run the steps of a weight transfer, until one admits requests or fails."""
        await self._sleep_mode.wake("weights")
        await self._receiver.receive()
        if self._over is not None:
            raise TransferFailed(self._over)

    async def _delivered(self, step: Step, given: Any) -> Any:
        try:
            return await self._receiver.run(step, given)
        except Exception as cause:
            self._over = self._over or f"weights did not arrive: {one_line(cause)}"
            raise TransferFailed(self._over) from cause

    async def _probed(self) -> list[tuple[list[int], Sampled]]:
        """Prompts of the probe, and the samples after them with the weights that were received."""
        await self._forget_tokens()
        return await self._generation.probe(self._served, self._vocabulary, self.context)

    async def _lie_down(self) -> None:
        if self._sleep_mode.asleep:
            return
        self._open.clear()
        await self._idle.wait()
        await self._sleep_mode.enter()

    async def _forget_tokens(self) -> None:
        """Make room for keys and values, and clear those of the old weights."""
        await self._sleep_mode.wake("kv_cache")
        await self._process.clear_prefix_cache()

    async def _check(self, served: Served, model: PreTrainedModel) -> None:
        """Raise `RunStopped` unless vLLM samples with the log-probabilities of `model`."""
        probed = await self._generation.probe(served, self._vocabulary, self.context)
        begun, sampled = [prompt for prompt, _ in probed], [sample for _, sample in probed]
        checkpoint = Checkpoint(Path(served.name), served.version)
        await asyncio.to_thread(  # other requests continue meanwhile
            verification.check, model, begun, sampled, self._dtype, checkpoint
        )

    def _died(self) -> PolicyFault:
        self.lost, self._over = True, "vLLM's process died, start another engine"
        return PolicyFault(self._over)

    async def _shut(self) -> None:
        self._process.shut()
