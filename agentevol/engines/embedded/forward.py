"""Forward pass of a transformers model over the chunks of a step, and the check that the model supports
it.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError, one_line
from agentevol.engines.embedded.slot_cache import ATTENTION, Chunk, SlotCache, Step, current_step, running

TOLERANCES = {torch.float32: 1e-3, torch.bfloat16: 0.15, torch.float16: 0.05}
"""Largest accepted difference of log-probabilities from transformers' own attention: rounding."""
LARGEST_ROUNDING = 1.0
"""Limit of a difference that a float32 comparison may show to be rounding: attention that looks for equal
tokens has large scores, and transformers' own attentions then differ by several tenths in bfloat16.
"""


class StepModel:
    """Model over the slots of a key/value cache."""

    def __init__(self, model: PreTrainedModel, cache: SlotCache) -> None:
        self.model, self.cache = model, cache
        head = model.get_output_embeddings()
        if head is None:
            raise ConfigError(
                f"a model of type {model.config.model_type} has no output embeddings to sample from"
            )
        self._head = head

    def logits(self, chunks: Sequence[Chunk]) -> torch.Tensor:
        """Feed a chunk to each of B slots, in their order; logits after its last token, shape (B, V)."""
        step = Step(chunks, self.model.device, self.cache.row_bytes())
        hook = self._head.register_forward_pre_hook(_keep_last)
        try:
            with running(step):
                output = self.model(
                    input_ids=step.input_ids_BQ,
                    position_ids=step.positions_BQ,
                    past_key_values=self.cache,
                    use_cache=True,
                )
        finally:
            hook.remove()
        return output.logits[:, -1]

    def check(self) -> None:
        """Raise `ConfigError` unless slots give the result of transformers' eager attention on a whole
        sequence.

        This check refuses architectures that keep another state than keys and values, or attend in another
        way.
        """
        kind = self.model.config.model_type
        try:
            difference = self._difference()
            is_served = difference < TOLERANCES[self.model.dtype] or (
                difference < LARGEST_ROUNDING and self._exact_difference() < TOLERANCES[torch.float32]
            )
        except (
            NotImplementedError,
            RuntimeError,
            TypeError,
            ValueError,
            AttributeError,
            IndexError,
        ) as cause:
            raise ConfigError(
                f"the embedded engine cannot serve models of type {kind}: {one_line(cause)}"
            ) from cause
        if not is_served:
            raise ConfigError(
                f"the embedded engine cannot serve models of type {kind}: "
                f"log-probabilities differ by {difference:.2g} from transformers'"
            )

    def _exact_difference(self) -> float:
        """The difference in float32, where rounding explains nothing; the weights are unchanged."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        held = [tensor.data for tensor in tensors]
        for tensor in tensors:
            if tensor.is_floating_point():
                tensor.data = tensor.data.float()
        try:
            return StepModel(self.model, SlotCache(1, self.cache.context))._difference()
        finally:
            for tensor, data in zip(tensors, held, strict=True):
                tensor.data = data

    def _difference(self) -> float:
        """Largest difference of log-probabilities after 7 tokens, fed as chunks of 4, 2 and 1."""
        vocabulary = int(self._head.weight.shape[0])
        ids = [(17 * place + 5) % vocabulary for place in range(7)]
        slot = self.cache.slots - 1
        with torch.inference_mode():
            self.model.set_attn_implementation("eager")
            try:
                whole = self.model(input_ids=torch.tensor([ids], device=self.model.device), use_cache=False)
            finally:
                self.model.set_attn_implementation(ATTENTION)
            for start, end in ((0, 4), (4, 6), (6, 7)):
                logits = self.logits([Chunk(slot, start, ids[start:end])])
            expected, actual = (x.float().log_softmax(-1) for x in (whole.logits[0, -1], logits[0]))
        return float((expected - actual).abs().max())


def _keep_last(_head: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Hook before the output embeddings: keep each row's last token, so that no other logits are computed."""
    hidden_BQE = arguments[0]
    last_B = current_step().last_B
    rows_B = torch.arange(len(last_B), device=hidden_BQE.device)
    return (hidden_BQE[rows_B, last_B][:, None], *arguments[1:])
