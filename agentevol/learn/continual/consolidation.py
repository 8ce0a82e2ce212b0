"""EWC penalty of a learner: the anchor's Fisher information, measured once, and the penalty of every step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from agentevol.config.sections.forgetting import EwcConfig
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Anchor, TrainingSequence
from agentevol.learn.batches.packing import PackedBatch, packed
from agentevol.learn.batches.trainable_sequences import fit
from agentevol.learn.continual import ewc
from agentevol.learn.continual.replay_sampling import reservoir
from agentevol.learn.distributed.ranks import ALONE, Ranks
from agentevol.learn.distributed.sharding import on_first, own_part, part_like, share_of
from agentevol.learn.network.network import Network
from agentevol.models.lora import FILE

Parameters = Mapping[str, torch.nn.Parameter]


@dataclass(frozen=True)
class Reading:
    """A training sequence, and the same with the tokens whose log-probability is taken."""

    read: PackedBatch
    said: PackedBatch


class Penalty:
    """strength / 2 * sum of importance * (weight - anchor's weight)^2, over the trained weights of the
    language model.

    `held` is sharded like the parameters: each rank has its own parts.
    """

    def __init__(
        self, parameters: Parameters, held: ewc.Consolidation, strength: float, ranks: Ranks = ALONE
    ) -> None:
        if parameters.keys() != held.fisher.keys():
            odd = sorted(parameters.keys() ^ held.fisher.keys())
            raise ConfigError(f"the anchor has other parameters than the trained model: {', '.join(odd[:5])}")
        self.held = held
        self._parameters, self._ranks = parameters, ranks
        self._strength = strength * ewc.normalisation(held.fisher, ranks.gathered)

    def add_gradient(self) -> float:
        """Add the penalty's gradient to the weights' gradients, and return the penalty."""
        own = {
            name: own_part(weight.detach()).detach().requires_grad_()
            for name, weight in self._parameters.items()
        }
        value = ewc.penalty(own, self.held.weights, self.held.fisher, strength=self._strength)
        value.backward()
        for name, weight in self._parameters.items():
            pull = own[name].grad
            if pull is None:
                continue
            if weight.grad is None:
                weight.grad = part_like(pull, weight)
            else:
                own_part(weight.grad).add_(pull)
        return sum(self._ranks.gathered(value.item()))


def consolidation(
    anchor: Anchor, network: Network, config: EwcConfig, max_tokens: int, seed: int, ranks: Ranks = ALONE
) -> ewc.Consolidation:
    """Weights and Fisher information of the anchor, whose model is `network`: read from its file, or measured
    and stored there.

    With `online` they are added to the information that the anchor itself was trained with. A sequence is one
    training sequence. Equal input gives equal numbers on a CPU; every rank has its own parts of them. Raises
    `ConfigError` if no training sequence has at most `max_tokens` tokens.
    """
    parameters = network.language()
    if anchor.file is not None and anchor.file.is_file():
        return _placed(ewc.load(anchor.file), parameters, anchor.file.name)
    sequences = reservoir(fit(anchor.sequences, max_tokens).sequences, config.sequences, seed)
    if not sequences:
        raise ConfigError(
            f"learn.ewc: none of {len(anchor.sequences)} sequences to keep has at most {max_tokens} tokens"
        )
    found = _measured(network, sequences, config, seed, ranks)
    earlier = anchor.checkpoint.path / ewc.FILE
    if config.online and earlier.is_file():
        before = _placed(ewc.load(earlier), parameters, str(earlier))
        found = ewc.online(before, found, decay=config.decay)
    if anchor.file is not None:
        entire = in_one_piece(found, parameters, ranks)  # on rank 0; every rank has to call it
        if ranks.rank == 0:
            ewc.save(entire, anchor.file)
    return found


def in_one_piece(held: ewc.Consolidation, parameters: Parameters, ranks: Ranks) -> ewc.Consolidation:
    """Gather the sharded tensors on the CPU of rank 0; every rank has to call this."""
    weights, fisher = (
        on_first([(name, part_like(part, parameters[name])) for name, part in parts.items()], ranks)
        for parts in (held.weights, held.fisher)
    )
    return ewc.Consolidation(weights, fisher, held.kind)


def _placed(found: ewc.Consolidation, parameters: Parameters, file: str) -> ewc.Consolidation:
    """This rank's parts of the tensors of a file, on the devices of the parameters; `ConfigError` for another
    model's.
    """
    shapes = {name: parameter.shape for name, parameter in parameters.items()}
    if {name: tensor.shape for name, tensor in found.weights.items()} != shapes:
        raise ConfigError(f"{file} holds weights of another model, or adapters of another shape: remove it")
    weights, fisher = (
        {
            name: own_part(share_of(tensors[name].to(parameter.device), parameter))
            for name, parameter in parameters.items()
        }
        for tensors in (found.weights, found.fisher)
    )
    return ewc.Consolidation(weights, fisher, found.kind)


def _measured(
    network: Network, sequences: Sequence[TrainingSequence], config: EwcConfig, seed: int, ranks: Ranks
) -> ewc.Consolidation:
    """Measure the Fisher information. Every rank reads every training sequence, since gradients of sharded
    weights need all of them to compute.
    """
    draws = torch.Generator().manual_seed(seed)  # on the CPU: equal random numbers whatever the device
    network.model.eval()
    network, parameters = replace(network, temperature=1.0, by_episode=False), network.language()
    found = ewc.fisher(
        # gradients are summed over ranks, and all ranks have the same
        lambda sequence: network.read(sequence.read, said=sequence.said).columns["logp"].mean() / ranks.size,
        (_sequence(network, sequence) for sequence in sequences),
        parameters,
        sample=(lambda sequence: _drawn(network, sequence, draws, ranks))
        if config.fisher == "sampled"
        else None,
    )
    weights = {name: own_part(tensor.detach()) for name, tensor in network.language().items()}
    return ewc.Consolidation(weights, found, config.fisher)


def _sequence(network: Network, sequence: TrainingSequence) -> Reading:
    batch = packed([sequence], [0]).to(network.device)
    return Reading(batch, batch)


def _drawn(network: Network, sequence: Reading, draws: torch.Generator, ranks: Ranks) -> Reading:
    """Resample each learnt token, conditioned on the stored tokens before it.

    Gradients of tokens sampled after the same context are uncorrelated with mean 0, so the square of their
    mean is in expectation the Fisher information of the actions in these contexts.
    """
    batch = sequence.read
    logits_NV = network.logits(replace(batch, replayed=torch.ones_like(batch.replayed)))
    own_N = torch.multinomial(logits_NV.softmax(dim=1).cpu(), 1, generator=draws).squeeze(1)
    token_N = ranks.gathered(own_N)[0]  # equal on all ranks, despite rounding
    token_ids = batch.token_ids.clone()
    token_ids[batch.mask] = token_N.to(token_ids.device)
    return replace(sequence, said=replace(batch, token_ids=token_ids))


def check_kept(learn: LearnConfig, base: Path) -> None:
    """Raise `ConfigError` where EWC would anchor fresh adapters, which have no Fisher information."""
    if learn.ewc is None or learn.lora is None or (base / FILE).is_file():
        return
    raise ConfigError(
        f"learn.ewc keeps adapters near earlier values, and {base} has none: fresh ones have no Fisher"
        " information; begin with a checkpoint of learn.lora.keep = true, or take learn.distillation on"
        " replayed sequences (select.merge = 'replay')"
    )
