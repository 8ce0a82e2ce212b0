"""Trained network: the language model with its adapters and heads, and its forward pass over a batch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import torch
from torch.distributed.fsdp import FSDPModule
from transformers import PreTrainedModel

from agentevol.learn.batches.packing import PackedBatch
from agentevol.learn.network.log_probabilities import (
    Temperature,
    divergence,
    final_hidden,
    output_head,
    predictions,
    scored,
)

if TYPE_CHECKING:
    from peft.tuners.lora import LoraModel

Kind = Literal["policy", "critic", "reward"]


@dataclass(frozen=True)
class Outputs:
    """Outputs of a forward pass at the N learnt tokens of a batch."""

    columns: dict[str, torch.Tensor]
    """`logp`, and `entropy`, `value`, `head` or `divergence` if requested, with gradient."""
    correct: int
    """Number of tokens that had the highest logit; 0 for a reward model."""


class Earlier(NamedTuple):
    """Logits of a teacher at the replayed ones among N learnt tokens."""

    logits_RV: torch.Tensor
    replayed_N: torch.Tensor
    """(N,) bool: R of them are True."""


class Reader(torch.nn.Module):
    """The language model and the heads beside it: all modules of a forward pass."""

    def __init__(self, model: PreTrainedModel, heads: torch.nn.Linear | None = None) -> None:
        super().__init__()
        self.model, self.heads = model, heads

    def forward(
        self,
        batch: PackedBatch,
        kind: Kind | Literal["logits"],
        *,
        temperature: Temperature = 1.0,
        entropy: bool = False,
        said: PackedBatch | None = None,
        earlier: Earlier | None = None,
    ) -> dict[str, torch.Tensor]:
        """Columns of the N learnt tokens; `value` is (N, 1), and `logp` comes with `correct`.

        `said` has other tokens at the learnt positions, whose log-probabilities are returned. `divergence` is
        that from `earlier`, 0 where a token is not replayed. `logits` are (R, V) of the replayed tokens,
        without temperature, and exclude all other columns.
        """
        hidden_TD = final_hidden(self.model, batch)
        if kind == "logits":
            before_N, _ = predictions(batch.token_ids, batch.mask)
            return {"logits": output_head(self.model)(hidden_TD[before_N[batch.replayed]]).float()}
        if kind == "reward":
            return {"head": self._said(hidden_TD[batch.mask])}
        scores = scored(self.model, hidden_TD, said or batch, temperature=temperature, entropy=entropy)
        columns = {"logp": scores.logp_N, "correct": scores.correct_N}
        if earlier is not None:
            before_N, _ = predictions(batch.token_ids, batch.mask)
            found_R = divergence(
                hidden_TD[before_N[earlier.replayed_N]], output_head(self.model), earlier.logits_RV
            )
            columns["divergence"] = torch.zeros_like(scores.logp_N).masked_scatter(
                earlier.replayed_N, found_R
            )
        if scores.entropy_N is not None:
            columns["entropy"] = scores.entropy_N
        if kind == "critic":
            before_N, _ = predictions(batch.token_ids, batch.mask)
            columns["value"] = self._said(hidden_TD[before_N])
        return columns

    def _said(self, hidden_ND: torch.Tensor) -> torch.Tensor:
        """(N, H) outputs of the heads, in float32."""
        if self.heads is None:
            raise ValueError("a critic and a reward model need heads")
        with torch.autocast(hidden_ND.device.type, enabled=False):
            return self.heads(hidden_ND.float())


@dataclass(frozen=True)
class Network:
    """A reader on its device, with the settings of its forward pass."""

    reader: Reader
    kind: Kind
    device: torch.device
    half: bool = False
    """Multiply matrices in bf16; weights and everything after the head keep their precision."""
    temperature: float = 1.0
    """Divisor of the logits for log-probabilities and entropies."""
    adapters: "LoraModel | None" = None
    """Adapters of the model, if it has any."""
    teacher: "Network | None" = None
    """Model for distillation over the whole vocabulary on replayed tokens: `divergence`."""
    by_episode: bool = False
    """Divide the logits by the temperature of each episode, where it has its own, and not by `temperature`:
    for texts that were sampled.
    """

    @property
    def model(self) -> PreTrainedModel:
        """The language model."""
        return self.reader.model

    @property
    def heads(self) -> torch.nn.Linear | None:
        """The heads beside the language model."""
        return self.reader.heads

    def parameters(self) -> list[torch.nn.Parameter]:
        """All trained parameters: this rank's shards, where they are sharded."""
        return [*self.language().values(), *([] if self.heads is None else self.heads.parameters())]

    def language(self) -> dict[str, torch.nn.Parameter]:
        """Trained parameters of the language model, by name: this rank's shards, as above."""
        if isinstance(self.reader, FSDPModule):
            self.reader.reshard()  # a pass without gradient leaves the root's weights gathered
        return {name: own for name, own in self.model.named_parameters() if own.requires_grad}

    def logits(self, batch: PackedBatch) -> torch.Tensor:
        """(R, V) logits of the replayed tokens, in float32, without temperature and gradient."""
        with torch.no_grad(), torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.half):
            return self.reader(batch.to(self.device), "logits")["logits"]

    def read(self, batch: PackedBatch, *, entropy: bool = False, said: PackedBatch | None = None) -> Outputs:
        """Run one forward pass; `said` has other tokens at the learnt positions."""
        batch = batch.to(self.device)
        earlier = None
        if self.teacher is not None:
            earlier = Earlier(self.teacher.logits(batch), batch.replayed)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.half):
            columns = self.reader(
                batch,
                self.kind,
                temperature=self._temperature(batch),
                entropy=entropy,
                said=None if said is None else said.to(self.device),
                earlier=earlier,
            )
        correct_N = columns.pop("correct", None)
        if "value" in columns:
            columns["value"] = columns["value"].squeeze(1)
        return Outputs(columns, 0 if correct_N is None else int(correct_N.sum()))

    def _temperature(self, batch: PackedBatch) -> Temperature:
        own_N = batch.temperature
        if not self.by_episode or own_N is None:
            return self.temperature
        return torch.where(own_N.isnan(), self.temperature, own_N)
