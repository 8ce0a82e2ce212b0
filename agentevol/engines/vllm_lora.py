"""The vLLM engine for runs that learn adapters: vLLM holds the weights under them, and an update adds one.

Nothing is reloaded and no act waits: until vLLM has the new adapters and was seen to sample with them, acts
begin with those before, and all end with those that they began with. Each set of adapters has a name, a path
and an id of its own, by the first two of which vLLM tells the blocks of its prefix cache apart: keys and
values of one are never read with another.
"""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from agentevol.engines.adapters import adapters_of, check_base, kinds, under, write_peft
from agentevol.engines.limits import ADAPTERS_AT_ONCE, adapter_rank
from agentevol.engines.scheduler import Sampled
from agentevol.engines.untied import untied
from agentevol.engines.vllm import KEEP, VllmEngine
from agentevol.engines.vllm_capability import Capabilities, capabilities
from agentevol.engines.vllm_policy import Served
from agentevol.errors import AgentEvolError, ConfigError, PolicyFault, RunStopped, one_line
from agentevol.learn.config import LoraConfig
from agentevol.protocols import Checkpoint

FIRST = 1001
"""The id of the first adapters: vLLM warms up with ones of its own, from 1 on."""


class VllmLoraEngine(VllmEngine):
    """Serves checkpoints of one run, which differ in the adapters that `lora` describes. Raises `ConfigError`
    at the start also for adapters that vLLM has no place for, and in `update`, where the old ones stay, for a
    checkpoint on other weights than the first one's.

    The other settings are those of `VllmEngine`.
    """

    _sleep_level = KEEP

    def __init__(
        self, checkpoint: Checkpoint, *, lora: LoraConfig, dtype: str = "float32", **settings: Any
    ) -> None:
        self._lora = lora
        self._base: Path | None = None  # the weights under all adapters
        self._started_from = Path()  # these, or their untied copy
        self._modules: list[str] = []
        self._requests: dict[Path, Any] = {}  # by the folders of adapters
        self._retiring: asyncio.Task[None] | None = None  # of the adapters before
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
        """The checkpoint's adapters, in a folder of their own."""
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

    # From here on: the engine's loop only.

    def _added(self, served: Served) -> Any:
        return self._requests[served.folder]

    async def _completed(self) -> None:
        await self._taken_in(self._served)

    async def _taken_in(self, fresh: Served) -> None:
        """Have vLLM load these adapters."""
        await self._wake("kv_cache")
        if not await self._llm.add_lora(self._added(fresh)):
            raise RuntimeError("it did not add the adapters")

    async def _swap(self, fresh: Served, renew: Callable[[], Awaitable[None]]) -> None:
        """Look at the new adapters while acts go on with those before, and serve them from then on."""
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
        acting = list(self._acting.values())  # with those before, all of them
        self._retiring = asyncio.create_task(self._retired(before, acting))

    async def _retired(self, before: Served, acting: Sequence[asyncio.Task[Sampled]]) -> None:
        """Remove adapters once nothing is sampled with them."""
        if acting:
            await asyncio.wait(acting)
        request = self._requests.pop(before.folder)
        try:
            await self._llm.remove_lora(request.lora_int_id)
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
        except Exception as cause:
            raise RunStopped(
                f"vLLM did not remove the adapters of {before.name}: {one_line(cause)}"
            ) from cause
        shutil.rmtree(before.folder.parent, ignore_errors=True)


def lora_arguments(rank: int, modules: Sequence[str]) -> dict[str, Any]:
    """How vLLM is started to serve adapters of this rank, of modules with these names. Raises `ConfigError`
    for too high a one.
    """
    return {
        "enable_lora": True,
        "max_loras": ADAPTERS_AT_ONCE,
        "max_lora_rank": adapter_rank(rank),
        "lora_dtype": "auto",  # the engine's own
        "lora_target_modules": list(modules),  # it would also multiply what embeddings have none of
    }
