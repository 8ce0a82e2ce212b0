"""The EWC penalty of a learner: what its anchor needs is measured once, and then held in every step."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch

from agentevol.config.forgetting import EwcConfig
from agentevol.errors import ConfigError
from agentevol.learn import ewc
from agentevol.learn.batches import PackedBatch, packed
from agentevol.learn.fitting import fit
from agentevol.learn.network import Network
from agentevol.learn.replay import reservoir
from agentevol.learn.scoring import final_hidden, output_head, predictions, scored
from agentevol.protocols import Anchor, TrainingSequence


@dataclass(frozen=True)
class Reading:
    """A row as the anchor reads it, and what is said in it in the end."""

    read: PackedBatch
    said: PackedBatch


class Penalty:
    """strength / 2 * sum of importance * (weight - anchor's weight)^2, over the language model's weights."""

    def __init__(self, network: Network, held: ewc.Consolidation, strength: float) -> None:
        self._parameters = dict(network.model.named_parameters())
        self._strength = strength
        self._weights = {name: tensor.to(network.device) for name, tensor in held.weights.items()}
        self._importance = {
            name: tensor.to(network.device) for name, tensor in ewc.normalised(held.fisher).items()
        }

    def add_gradient(self) -> float:
        """Add the penalty's gradient to the weights' gradients; returns the penalty."""
        value = ewc.penalty(self._parameters, self._weights, self._importance, strength=self._strength)
        value.backward()
        return value.item()


def consolidation(
    anchor: Anchor, network: Network, config: EwcConfig, max_tokens: int, seed: int
) -> ewc.Consolidation:
    """What the anchor, which `network` holds, leaves to protect: from its file, or measured and kept there.

    A sequence is a row. Equal input gives equal numbers on a CPU. Raises `ConfigError` without a row of at
    most `max_tokens` tokens.
    """
    if anchor.file is not None and anchor.file.is_file():
        return ewc.load(anchor.file)
    rows = reservoir(fit(anchor.rows, max_tokens).rows, config.sequences, seed)
    if not rows:
        raise ConfigError(
            f"learn.ewc: none of {len(anchor.rows)} rows to keep has at most {max_tokens} tokens"
        )
    found = _measured(network, rows, config, seed)
    if anchor.file is not None:
        ewc.save(found, anchor.file)
    return found


def _measured(
    network: Network, rows: Sequence[TrainingSequence], config: EwcConfig, seed: int
) -> ewc.Consolidation:
    draws = torch.Generator().manual_seed(seed)  # on the CPU: equal draws whatever the device
    network.model.eval()
    fisher = ewc.fisher(
        lambda sequence: _mean_logp(network, sequence),
        (_sequence(network, row) for row in rows),
        dict(network.model.named_parameters()),
        sample=(lambda sequence: _drawn(network, sequence, draws)) if config.fisher == "sampled" else None,
    )
    weights = {name: tensor.detach() for name, tensor in network.model.named_parameters()}
    return ewc.Consolidation(weights, fisher, config.fisher)


def _sequence(network: Network, row: TrainingSequence) -> Reading:
    batch = packed([row], [0]).to(network.device)
    return Reading(batch, batch)


def _mean_logp(network: Network, sequence: Reading) -> torch.Tensor:
    """Of what is said, after what was read before it."""
    with _precision(network):
        hidden_TD = final_hidden(network.model, sequence.read)
        return scored(network.model, hidden_TD, sequence.said).logp_N.mean()


@torch.no_grad()
def _drawn(network: Network, sequence: Reading, draws: torch.Generator) -> Reading:
    """Each learnt token drawn anew, after the stored ones before it.

    Gradients of tokens drawn after the same context are uncorrelated with mean 0, so that the square of their
    mean is in expectation the Fisher information of the actions in these contexts.
    """
    batch = sequence.read
    with _precision(network):
        hidden_TD = final_hidden(network.model, batch)
        before_N, _ = predictions(batch.token_ids, batch.mask)
        logits_NV = output_head(network.model)(hidden_TD[before_N]).float()
    token_N = torch.multinomial(logits_NV.softmax(dim=1).cpu(), 1, generator=draws).squeeze(1)
    token_ids = batch.token_ids.clone()
    token_ids[batch.mask] = token_N.to(token_ids.device)
    return replace(sequence, said=replace(batch, token_ids=token_ids))


def _precision(network: Network) -> "torch.autocast | nullcontext[None]":
    return torch.autocast(network.device.type, dtype=torch.bfloat16) if network.half else nullcontext()
