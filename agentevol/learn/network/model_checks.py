"""Checks, adapters and precision of a model before and after training."""

from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import torch
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.packing import UNKNOWN, PackedBatch, packed
from agentevol.learn.network.log_probabilities import final_hidden, model_inputs, output_head

if TYPE_CHECKING:
    pass

_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1e-1, torch.float16: 2e-2}
"""Tolerance of logits, relative to the largest: rounding, far below attention across sequences."""


def precision(name: Literal["float32", "bf16"]) -> torch.dtype:
    """Torch type of a configured precision."""
    return {"float32": torch.float32, "bf16": torch.bfloat16}[name]


def vocabulary_size(model: PreTrainedModel) -> int:
    """Number of token ids that the model can read."""
    return cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings


def positions(model: PreTrainedModel) -> int:
    """Number of positions of the model."""
    return int(getattr(model.config, "max_position_embeddings", None) or 1 << 30)


def check_packing(model: PreTrainedModel) -> None:
    """Raise `ConfigError` unless the learner's forward pass is exactly this model's.

    Two short sequences are scored packed and each alone, one of them shortened as well, and by the model's
    own head: attention across sequences, attention to later tokens, and heads that scale or cap their logits
    are all detected.
    """
    vocabulary = vocabulary_size(model)
    first, second = [(3 * n + 1) % vocabulary for n in range(7)], [(5 * n + 2) % vocabulary for n in range(6)]
    training = model.training
    model.eval()
    with torch.no_grad():
        together = _logits(model, [first, second])
        alone = torch.cat([_logits(model, [first[:4]]), _logits(model, [second])])
        own = _own_logits(model, second)
    model.train(training)
    compared = torch.cat([together[:4], together[7:]])
    bound = _TOLERANCE.get(model.dtype, 1e-3) * max(1.0, compared.abs().max().item())
    if not all(logits.isfinite().all() for logits in (compared, alone, own)):
        raise ConfigError(
            f"the weights of this {type(model).__name__} are not finite: its logits are not numbers"
        )
    if (compared - alone).abs().max().item() > bound:
        raise ConfigError(
            f"{type(model).__name__} cannot be trained packed: its sequences are not independent"
        )
    if (compared[4:] - own).abs().max().item() > bound:
        raise ConfigError(
            f"{type(model).__name__} does more to its logits than one linear map: not supported"
        )


def _logits(model: PreTrainedModel, sequences: list[list[int]]) -> torch.Tensor:
    """Logits (T, V) of packed sequences, computed by the learner."""
    return output_head(model)(final_hidden(model, _batch(sequences, model.device))).float()


def _own_logits(model: PreTrainedModel, sequence: list[int]) -> torch.Tensor:
    """Logits (T, V) of one sequence, computed by the model's own forward pass."""
    return model(**model_inputs(_batch([sequence], model.device))).logits[0].float()


def _batch(sequences: list[list[int]], device: torch.device) -> PackedBatch:
    """Pack token ids into one batch without learnt tokens."""
    unlearnt = [
        TrainingSequence(
            token_ids=np.asarray(sequence, dtype=np.int32),
            mask=np.zeros(len(sequence), dtype=np.bool_),
            rollout_logp=np.full(len(sequence), UNKNOWN, dtype=np.float32),
            weight=1.0,
            trajectory_id="",
        )
        for sequence in sequences
    ]
    return packed(unlearnt, range(len(sequences))).to(device)
