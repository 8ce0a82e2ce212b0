"""vLLM engine for runs that train adapters: vLLM holds the base weights, and an update adds adapters.

Nothing is reloaded and no request waits: until vLLM has loaded the new adapters and they are verified,
requests begin with the previous adapters, and every request ends with the adapters that it began with. Each
set of adapters has its own name, path and id; vLLM distinguishes the blocks of its prefix cache by the first
two: keys and values of one set are never read with another.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agentevol.core.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped, one_line
from agentevol.core.protocols import Checkpoint
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.capabilities import Capabilities, capabilities
from agentevol.engines.vllm.engine import VllmEngine
from agentevol.engines.vllm.policy import Served
from agentevol.engines.vllm.sleep_mode import KEEP
from agentevol.engines.vllm.weights.lora_adapters import adapters_of, check_base, kinds, under, write_peft
from agentevol.engines.vllm.weights.output_embeddings import untied
from agentevol.models.limits import ADAPTERS_AT_ONCE, adapter_rank
from agentevol.models.lora_config import LoraConfig

FIRST = 1001
"""Id of the first adapters: vLLM warms up with dummy adapters from 1 on."""


class VllmLoraEngine(VllmEngine):
    """Engine for checkpoints of one run, which differ in the adapters that `lora` describes. Raises
    `ConfigError` at the start also for adapters that vLLM cannot serve, and in `update`, where the old ones
    stay, for a checkpoint on other base weights than the first one's.

    The other settings are those of `VllmEngine`.
    """

    _sleep_level = KEEP

    def __init__(
        self, checkpoint: Checkpoint, *, lora: LoraConfig, dtype: str = "float32", **settings: Any
    ) -> None:
        self._lora = lora
        self._base: Path | None = None  # the base weights of all adapters
        self._started_from = Path()  # the base weights, or their copy with separate output embeddings
        self._modules: list[str] = []
        self._requests: dict[Path, Any] = {}  # by the folders of adapters
        self._retiring: asyncio.Task[None] | None = None  # removal of the previous adapters
        super().__init__(checkpoint, dtype=dtype, **settings)

    def _used(self) -> Capabilities:
        return capabilities(lora=True)

    def _begun(self) -> tuple[Path, dict[str, Any]]:
        if self._dtype == "float32" and not self._vllm.on_cpu:
            raise ConfigError(
                "engine.lora: vLLM computes adapters in 16 bits on a GPU; set engine.dtype = 'bfloat16'"
            )
        return self._started_from, lora_arguments(self._lora.rank, self._modules)

    def _folder(self, path: Path, model: PreTrainedModel) -> Path:
        """The checkpoint's adapters, in a separate folder."""
        scratch = Path(self._scratch.name)
        if self._base is None:
            self._base = under(path, self._lora, scratch / "base" / path.name)
            self._started_from = untied(self._base, model, scratch / "untied" / path.name)
        adapters = adapters_of(path, model, self._lora)
        if path != self._base:
            check_base(path, self._base, adapters, self._lora)
        self._modules = self._modules or kinds(adapters)
        self._copies += 1
        folder = scratch / str(self._copies) / path.name
        write_peft(adapters, self._lora, folder)
        name, identity = f"{path.name}/{self._copies}", FIRST + self._copies
        self._requests[folder] = self._vllm.LoRARequest(name, identity, str(folder))
        return folder

    # Everything below runs in the engine's event loop only.

    def _added(self, served: Served) -> Any:
        return self._requests[served.folder]

    async def _completed(self) -> None:
        await self._taken_in(self._served)

    async def _taken_in(self, fresh: Served) -> None:
        """Have vLLM load these adapters."""
        await self._sleep_mode.wake("kv_cache")
        await self._process.add_adapters(self._added(fresh))

    async def _swap(self, fresh: Served, renew: Callable[[], Awaitable[None]]) -> None:
        """Verify the new adapters while requests continue with the previous ones, then serve the new ones."""
        if self._changing:
            raise PolicyFault("another update of the weights is under way")
        self._changing = True
        try:
            if self._retiring is not None:
                await self._retiring  # there is room for two
            await renew()
        except AgentEvolError as cause:
            self._over = self._over or str(cause)
            raise
        finally:
            self._changing = False
            self._open.set()  # it may have slept
        before, self._served = self._served, fresh
        acting = list(self._acting.values())  # all use the previous adapters
        self._retiring = asyncio.create_task(self._retired(before, acting))

    async def _retired(self, before: Served, acting: Sequence[asyncio.Task[Sampled]]) -> None:
        """Remove adapters once no request uses them."""
        if acting:
            await asyncio.wait(acting)
        request = self._requests.pop(before.folder)
        try:
            await self._process.remove_adapters(request.lora_int_id)
        except PolicyFault:
            raise
        except Exception as cause:
            raise RunStopped(
                f"vLLM did not remove the adapters of {before.name}: {one_line(cause)}"
            ) from cause
        shutil.rmtree(before.folder.parent, ignore_errors=True)


def lora_arguments(rank: int, modules: Sequence[str]) -> dict[str, Any]:
    """Arguments of vLLM to serve adapters of this rank on modules with these names. Raises `ConfigError` for
    too high a rank.
    """
    return {
        "enable_lora": True,
        "max_loras": ADAPTERS_AT_ONCE,
        "max_lora_rank": adapter_rank(rank),
        "lora_dtype": "auto",  # the engine's own
        "lora_target_modules": list(modules),  # else also those of embeddings, which have none
    }
