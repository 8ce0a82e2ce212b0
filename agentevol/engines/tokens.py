"""Engines that continue token ids, whoever made them: both that hold weights do, beside playing episodes."""

from collections.abc import Sequence
from typing import Protocol

from agentevol.protocols import Policy, RolloutEngine, Sampling
from agentevol.rendering import ChatRenderer
from agentgym_store.records import Sample


class TokenPolicy(Policy, Protocol):
    """A policy that is a language model."""

    @property
    def renderer(self) -> ChatRenderer:
        """Renders for the tokenizer of its weights."""
        ...

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """What it says after these ids. A conversation completes one prompt at a time; what it has read
        before is kept until its `release`. Raises `ContextFull`, `PolicyFault`.
        """
        ...


class TokenEngine(RolloutEngine, Protocol):
    """An engine of such policies."""

    context: int
    """Most tokens of a prompt and what follows it."""

    def serve(self, sampling: Sampling) -> TokenPolicy:
        """A policy over the current weights."""
        ...
