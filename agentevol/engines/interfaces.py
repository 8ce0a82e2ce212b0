"""Protocols of engines: factories of other distributions, and engines that continue given token ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentevol.config.sections.engine import CustomEngineConfig
from agentevol.core.protocols import Checkpoint, Policy, RolloutEngine, Sampling
from agentevol.models.rendering import ChatRenderer
from agentgym_store.records import Sample


class EngineFactory(Protocol):
    """Start an engine of another distribution (`engine.name`): a class or a function."""

    def __call__(self, settings: CustomEngineConfig, checkpoint: Checkpoint) -> RolloutEngine:
        """Return an engine that serves the checkpoint's weights.

        `settings` is the section `engine`; the engine's own settings are in `settings.options`. Raises
        `ConfigError` for a setting that it does not have, and for a checkpoint that it cannot serve.
        """
        ...


class TokenPolicy(Policy, Protocol):
    """A policy that is a language model."""

    @property
    def renderer(self) -> ChatRenderer:
        """Chat renderer of the weights' tokenizer."""
        ...

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """Sample a continuation of these ids. A conversation has one request at a time; its cached prefix is
        kept until its `release`. Raises `ContextFull`, `PolicyFault`.
        """
        ...


class TokenEngine(RolloutEngine, Protocol):
    """Engine whose policies are language models."""

    context: int
    """Maximum tokens of a prompt and its completion."""

    def serve(self, sampling: Sampling) -> TokenPolicy:
        """Return a policy over the current weights."""
        ...


@dataclass(frozen=True)
class Sampled:
    """Result of a request."""

    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: Literal["stop", "length"]
