"""Turn-taking of a language model with any sampler: prompt, context check and record of the turn."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from agentevol.core.protocols import Conversation, Overflow, Sampling
from agentevol.engines.interfaces import Sampled
from agentevol.engines.overflow import prompt_of
from agentevol.models.limits import check_room
from agentevol.models.rendering import ChatRenderer
from agentgym_store.records import Sample


class Speaker(Protocol):
    """One frozen set of weights."""

    @property
    def renderer(self) -> ChatRenderer:
        """Chat renderer of its tokenizer."""
        ...

    @property
    def version(self) -> int:
        """Version of the weights in the run."""
        ...

    @property
    def name(self) -> str:
        """Name of the checkpoint folder."""
        ...


class Bounds(Protocol):
    """Maximum conversation length of an engine, and its overflow policy."""

    context: int
    overflow: Overflow


class TurnPolicy(ABC):
    """Policy of one frozen set of weights with its sampling parameters: a `TokenPolicy` except for sampling
    and `release`. It ends with the next `update` of its engine.
    """

    def __init__(self, speaker: Speaker, bounds: Bounds, sampling: Sampling) -> None:
        self._speaker, self._bounds, self._sampling = speaker, bounds, sampling
        self.name = speaker.name
        self.version = speaker.version

    @property
    def renderer(self) -> ChatRenderer:
        """Chat renderer of the weights' tokenizer."""
        return self._speaker.renderer

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next turn. Raises `ContextFull` and `PolicyFault`; waits while the engine is full."""
        bounds = self._bounds
        prompt_ids = prompt_of(self.renderer, conversation, self._sampling, bounds.context, bounds.overflow)
        if not conversation.beginning:
            return await self.complete(conversation.id, prompt_ids, seed)
        forced = self.renderer.beginning_ids(conversation.beginning)
        sample = await self.complete(conversation.id, [*prompt_ids, *forced], seed)
        return _begun(sample, forced, conversation.beginning)

    async def complete(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sample:
        """Sample a continuation of these ids; raises the same errors as `act`."""
        check_room(len(prompt_ids), self._sampling, self._bounds.context)
        sampled = await self._sampled(conversation_id, prompt_ids, seed)
        return Sample(
            text=self.renderer.text(sampled.token_ids),
            prompt_ids=tuple(prompt_ids),
            token_ids=sampled.token_ids,
            logprobs=sampled.logprobs,
            policy_version=self.version,
            finish_reason=sampled.finish_reason,
        )

    @abstractmethod
    async def _sampled(self, conversation_id: str, prompt_ids: Sequence[int], seed: int) -> Sampled:
        """Sample a continuation of ids that leave room for it. Cancelling it aborts the request."""


def _begun(sample: Sample, forced: Sequence[int], text: str) -> Sample:
    """The sample with the forced tokens at the end of its prompt as its own first tokens, never learnt."""
    drawn = len(sample.token_ids)
    return sample.model_copy(
        update={
            "text": text + sample.text,
            "prompt_ids": sample.prompt_ids[: -len(forced)],
            "token_ids": (*forced, *sample.token_ids),
            "logprobs": (*[0.0] * len(forced), *sample.logprobs),
            "loss_mask": (*[0] * len(forced), *[1] * drawn),
        }
    )
