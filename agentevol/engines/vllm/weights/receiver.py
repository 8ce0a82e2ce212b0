"""Receiving side of weight transfers: the steps that `sender` has an engine run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agentevol.engines.vllm.process import VllmProcess
from agentevol.engines.vllm.weights.transfer_modes import Step, named


class Receiver:
    """Receiver of one engine: `receive` admits steps until one of them ends the transfer.

    `probe` is the step that samples for verification.
    """

    def __init__(self, process: VllmProcess, probe: Callable[[], Awaitable[Any]]) -> None:
        self._process, self._probe = process, probe
        self._admitting, self._ended = asyncio.Event(), asyncio.Event()

    async def receive(self) -> None:
        """Admit steps until `admit` has run, or a step has failed."""
        self._ended.clear()
        self._admitting.set()
        try:
            await self._ended.wait()
        finally:
            self._admitting.clear()

    async def run(self, step: Step, given: Any) -> Any:
        """Run a step once steps are admitted, and return its result. Raises whatever it raises."""
        await self._admitting.wait()
        try:
            return await self._run(step, given)
        except Exception:
            self._ended.set()
            raise

    async def _run(self, step: Step, given: Any) -> Any:
        match step:
            case "admit":
                self._ended.set()
                return None
            case "probe":
                return await self._probe()
            case _:
                return await self._process.call(step, named(step, given))
