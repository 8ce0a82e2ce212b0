"""Policy weights, and their replacement during calls.

Running calls finish with their weights; new calls wait for the new ones.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from agentevol.core.errors import ConfigError, one_line
from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.engines.interfaces import TokenEngine
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.service.chat.template import ChatTemplate
from agentevol.service.errors import Refusal, invalid


class Weights:
    """Engine with its current checkpoint."""

    def __init__(self, engine: TokenEngine, checkpoint: Checkpoint, wait_s: float) -> None:
        self.engine = engine
        self.checkpoint = checkpoint
        self.template = ChatTemplate(engine.serve(Sampling()).renderer)
        self._wait_s = wait_s
        self._users = 0
        self._open, self._idle = asyncio.Event(), asyncio.Event()
        self._open.set()
        self._idle.set()
        self.broken: str | None = None
        """Reason why sampling is disabled; None while it works."""

    @property
    def updating(self) -> bool:
        """True if new weights are being loaded."""
        return not self._open.is_set()

    @asynccontextmanager
    async def used(self) -> AsyncGenerator[None]:
        """Hold the weights in place within the block. Raises `Refusal` if an update takes too long."""
        try:
            async with asyncio.timeout(self._wait_s if self.updating else None):
                while self.updating:  # another update may have started first
                    await self._open.wait()
        except TimeoutError:
            raise Refusal(
                503, "weights_updating", "the weights are being replaced: try again in a moment"
            ) from None
        if self.broken is not None:
            raise Refusal(502, "engine_error", self.broken)
        self._users += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._idle.set()

    async def update(self, model: str) -> Checkpoint:
        """Load the weights of `model` once running calls have finished. Raises `Refusal`; if the model cannot
        be read or has another tokenizer, the old weights stay.
        """
        if self.updating:
            raise Refusal(409, "update_in_progress", "another update is under way: try again after it")
        self._open.clear()
        try:
            fresh = await asyncio.to_thread(self._checked, model)
            await self._idle.wait()
            await self._taken(fresh)
        except ConfigError as cause:
            raise invalid(str(cause), "model") from cause
        finally:
            self._open.set()
        return fresh

    async def _taken(self, fresh: Checkpoint) -> None:
        """Load weights into the engine.

        After any failure but a refusal of the weights sampling is disabled: the engine's weights are then
        unknown.
        """
        try:
            await asyncio.to_thread(self.engine.update, fresh)
            self.template = ChatTemplate(self.engine.serve(Sampling()).renderer)
        except ConfigError:
            raise
        except Exception as cause:
            self.broken = f"the engine did not load the weights: {one_line(cause)}"
            raise Refusal(502, "engine_error", self.broken) from cause
        self.checkpoint = fresh

    def _checked(self, model: str) -> Checkpoint:
        """The checkpoint with the next version number. Raises `ConfigError`."""
        found = resolve(model)
        _check_tokenizer(found.path, self.template.renderer)
        return replace(found, version=max(found.version, self.checkpoint.version + 1))


def _check_tokenizer(path: Path, current: ChatRenderer) -> None:
    """Raise unless recorded ids have the same meaning under the new tokenizer."""
    tokenizer = load_tokenizer(path)
    same = tokenizer.get_vocab() == current.tokenizer.get_vocab()
    if not same or tokenizer.chat_template != current.tokenizer.chat_template:
        raise ConfigError(
            f"{path} has another tokenizer or chat template than the weights before: start a service for it"
        )
