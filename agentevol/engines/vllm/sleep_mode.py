"""Sleep mode of a vLLM engine: its GPU's memory is free for a learner meanwhile."""

from agentevol.engines.vllm.process import VllmProcess

DISCARD, KEEP = 2, 1
"""Sleep levels of vLLM: weights are discarded and read or sent again, or kept in the machine's memory."""


class SleepMode:
    """State of the memory of one engine: awake, with room for the weights alone, or asleep."""

    def __init__(self, process: VllmProcess, level: int) -> None:
        self._process, self._level = process, level
        self.asleep = False

    async def enter(self) -> None:
        """Free the memory; no request may run."""
        await self._process.sleep(self._level)
        self.asleep = True

    async def wake(self, part: str) -> None:
        """Reallocate memory where it was freed, first for `weights`, then for `kv_cache`."""
        if self.asleep:
            await self._process.wake(part)
            self.asleep = part == "weights"
