"""vLLM's asynchronous engine, and the processes in which it computes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentevol.core.errors import PolicyFault
from agentevol.engines.vllm.capabilities import Capabilities
from agentevol.engines.vllm.external_engine import CLOSE_S
from agentevol.engines.vllm.watchdog import Watchdog, watching_children

SETTINGS = {
    "VLLM_NO_USAGE_STATS": "1",  # no usage statistics are sent
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # as many threads as OMP_NUM_THREADS says, on any free core
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # a fork would hold open the pipe that the watchdog reads
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # standard output is for `ready ...` or JSON
}
"""Environment variables for vLLM, unless they are set already."""


class VllmProcess:
    """vLLM in processes of its own, which end with this one (`watchdog`).

    All calls but `dismiss` belong to one event loop. A call raises the fault that `died` returns where the
    processes have ended, and otherwise whatever vLLM raises.
    """

    def __init__(self, vllm: Capabilities, died: Callable[[], PolicyFault]) -> None:
        self._vllm, self._died = vllm, died
        self.llm: Any = None
        """vLLM's `AsyncLLM`; None before the start and after the end."""
        self._watchdog: Watchdog | None = None

    def start(self, arguments: Any) -> None:
        """Start vLLM with these `AsyncEngineArgs`; blocks until it has loaded its weights."""
        self._watchdog = Watchdog()
        with watching_children(self._watchdog):
            self.llm = self._vllm.AsyncLLM.from_engine_args(arguments)

    async def generate(
        self, request_id: str, prompt_ids: Sequence[int], parameters: Any, adapters: Any
    ) -> Any:
        """The last output of a request, with the adapters of a `LoRARequest` or None; None for no output."""
        prompt, output = self._vllm.tokens_input(list(prompt_ids)), None
        with self._alive():
            async for latest in self.llm.generate(prompt, parameters, request_id, lora_request=adapters):
                output = latest  # the last one is complete
        return output

    async def call(self, method: str, arguments: Mapping[str, Any]) -> None:
        """Call a method of all workers."""
        with self._alive():
            await self.llm.collective_rpc(method, kwargs=dict(arguments))

    async def load(self, folder: Path) -> None:
        """Load the weights in a folder in place of the present ones."""
        await self.call("reload_weights", {"weights_path": str(folder)})

    async def add_adapters(self, request: Any) -> None:
        """Load the adapters of a `LoRARequest`."""
        with self._alive():
            if not await self.llm.add_lora(request):
                raise RuntimeError("it did not add the adapters")

    async def remove_adapters(self, identity: int) -> None:
        """Remove adapters."""
        with self._alive():
            await self.llm.remove_lora(identity)

    async def clear_prefix_cache(self) -> None:
        """Clear all keys and values. Raises `RuntimeError` where requests still use some."""
        with self._alive():
            if await self.llm.reset_prefix_cache() is False:
                raise RuntimeError("its prefix cache still holds keys and values of the old weights")

    async def sleep(self, level: int) -> None:
        """Free the memory of the devices."""
        with self._alive():
            await self.llm.sleep(level=level)

    async def wake(self, part: str) -> None:
        """Reallocate the memory of a part, `weights` or `kv_cache`."""
        with self._alive():
            await self.llm.wake_up(tags=[part])

    def shut(self) -> None:
        """Shut vLLM down, which answers the pending requests. May be called twice."""
        if self.llm is not None:
            llm, self.llm = self.llm, None
            llm.shutdown(timeout=CLOSE_S)

    def dismiss(self) -> None:
        """End the watchdog. May be called twice."""
        if self._watchdog is not None:
            self._watchdog.dismiss()

    @contextmanager
    def _alive(self) -> Generator[None]:
        try:
            yield
        except self._vllm.EngineDeadError as cause:
            raise self._died() from cause
