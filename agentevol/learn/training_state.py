"""State of a training: the network, its training sequences, frozen columns, and optimiser steps.

prepare     the model, on its device, and the training sequences that it can read
freeze      log-probabilities under fixed policies, and advantages
hold        regularisation towards the anchor (EWC, distillation)
divide      division of the training sequences into optimiser steps
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from transformers import PreTrainedModel

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.algorithms.contract import Objective
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Anchor, Checkpoint, TrainingSequence
from agentevol.learn.agreement import Gap, check_gap
from agentevol.learn.batches.assembly import Assembly, OptimiserBatch
from agentevol.learn.batches.batch_plan import micro_batches, plan
from agentevol.learn.batches.packing import packed
from agentevol.learn.batches.trainable_sequences import Fitting, NothingToLearn, fit
from agentevol.learn.continual.consolidation import Penalty, check_kept, consolidation
from agentevol.learn.continual.distillation import distilled
from agentevol.learn.distributed.ranks import Ranks
from agentevol.learn.distributed.sharding import shard
from agentevol.learn.heads.episode_scores import final_scores
from agentevol.learn.heads.initialisation import first_heads
from agentevol.learn.heads.reward_scale import RewardScale
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.model_checks import check_packing, positions, precision, vocabulary_size
from agentevol.learn.network.network import Network, Reader
from agentevol.learn.precomputed_columns import add_anchored, add_old, add_reference, bypass_old
from agentevol.models.causal_lm import load_model
from agentevol.models.lora import adapted_from

GAP_TOKENS = 16384
"""Most tokens of rollouts that `logp_gap` is measured on (at least one training sequence)."""


@dataclass
class Training:
    """State of a training before its first step."""

    config: LearnConfig
    ranks: Ranks
    start: Checkpoint
    network: Network
    objective: Objective
    fitting: Fitting
    assembly: Assembly
    kept: list[int] | None = None
    """Indices of training sequences that the algorithm's advantage function keeps; None keeps all."""
    steps: list[OptimiserBatch] = field(default_factory=list[OptimiserBatch])
    penalty: Penalty | None = None
    """Penalty that every step adds to the loss, whatever its data."""


def prepare(
    config: LearnConfig,
    ranks: Ranks,
    device: torch.device,
    start: Checkpoint,
    data: Sequence[TrainingSequence],
    objectives: Sequence[str] = (),
) -> Training:
    """Load the model and keep the training sequences that fit it; `objectives` are the names of its heads."""
    chosen = objective(config.algorithm, config.options)
    frozen = config.lora is not None and config.dtype == "bf16"
    model = load_model(start.path, PACKED_ATTENTION, precision("bf16" if frozen else "float32"))
    limit = min(config.micro_batch_tokens, positions(model))
    fitting = fit(data, limit, config.overflow, closing=chosen.algorithm.model == "critic")
    if not fitting.sequences:
        raise NothingToLearn(f"nothing to learn from {len(data)} sequences: {fitting.reasons(limit)}")
    check_vocabulary(fitting.sequences, model)
    assembly = Assembly(fitting.sequences)
    network = _network(config, device, chosen, start, model, assembly, objectives)
    if ranks.size > 1:
        shard(network.reader, device, narrow=_narrow(network))
    return Training(config, ranks, start, network, chosen, fitting, assembly)


def divide(training: Training, seed: int) -> None:
    """Divide the training sequences into optimiser steps."""
    config, assembly, kept = training.config, training.assembly, training.kept
    if kept is not None and not kept:
        raise NothingToLearn(
            f"{training.objective.name} keeps none of {len(training.fitting.sequences)} sequences"
        )
    atoms = assembly.atoms(training.objective.algorithm.together, kept)
    steps = plan(training.fitting.sequences, atoms, config.batch_tokens, config.epochs, seed)[
        : config.max_steps
    ]
    training.steps = [assembly.optimiser_batch(indices) for indices in steps]


def learnt_sequences(training: Training) -> list[TrainingSequence]:
    """Training sequences of all steps, each once."""
    indices = {index for step in training.steps for index in step.indices}
    return [training.fitting.sequences[index] for index in sorted(indices)]


def _network(
    config: LearnConfig,
    device: torch.device,
    chosen: Objective,
    start: Checkpoint,
    model: PreTrainedModel,
    assembly: Assembly,
    objectives: Sequence[str],
) -> Network:
    """The model on its device, with the trained adapters and heads; models to be sharded stay on the CPU,
    since a device may be too small for them.
    """
    place = device if config.shards == 1 else torch.device("cpu")
    torch.nn.Module.to(model, place)
    check_packing(model)
    adapters = adapted_from(model, config.lora, start.path) if config.lora is not None else None
    if config.gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    kind = chosen.algorithm.model
    own = None
    if kind != "policy":
        outputs = 1 if kind == "critic" else _outputs(chosen, assembly)
        own = first_heads(start.path, model, chosen, outputs, objectives).to(place)
    # sampled texts are learnt at their sampling temperature; texts to imitate have none
    sampled = chosen.algorithm.data == "groups"
    temperature = _temperature(config) if sampled else 1.0
    half = config.dtype == "bf16"
    return Network(Reader(model, own), kind, device, half, temperature, adapters, by_episode=sampled)


def _narrow(network: Network) -> bool:
    """True where sharded layers are gathered in bf16, the type of their matrix products, to reduce
    traffic.
    """
    return network.half and network.device.type == "cuda"


def _outputs(chosen: Objective, assembly: Assembly) -> int:
    """Number of heads of a reward model: as many as there are labels, else its option `heads`."""
    labels = assembly.columns.get("label")
    if labels is not None:
        return labels[0].shape[1]
    return int(chosen.options.get("heads", 1))


def scale_of(training: Training, objectives: Sequence[str]) -> RewardScale:
    """Scale of the heads on the episodes that they were trained on, each of them once."""
    scores = final_scores(training.network, learnt_sequences(training), training.config.micro_batch_tokens)
    return RewardScale.measured(scores.values(), objectives, int(training.objective.options["heads"]))


def freeze(
    training: Training,
    reference: Checkpoint | None,
    multipliers: Mapping[str, float],
    sampler: Checkpoint | None = None,
) -> dict[str, float]:
    """Compute all columns that are constant over the steps, and return the metrics of the advantages.

    `sampler` are the weights that sampled the newest training sequences, where known: engine and learner are
    compared under these. Raises `RunStopped` where they disagree, or nothing could be compared.
    """
    chosen, assembly, ranks = training.objective, training.assembly, training.ranks
    limit = training.config.micro_batch_tokens
    found = ranks.gathered(_engine_gap(training, sampler))[0]  # rank 0's, so that all ranks stop, or none
    check_gap(found, training.config.max_logp_gap, expected=sampler is not None)
    noted = {"logp_gap": found.mean}
    if any(
        sequence.policy_version is not None or _has_logp(sequence) for sequence in training.fitting.sequences
    ):
        noted["logp_gap_tokens"] = float(found.tokens)
    noted |= _freeze_old(training)
    if "ref_logp" in chosen.needs:
        other = None
        if reference is not None and reference != training.start:
            other = _reference(training, reference)
        add_reference(other, training.network, assembly, limit, ranks)
    if chosen.advantage is not None:
        given = chosen.advantage(assembly.rollouts(multipliers))
        assembly.add_column("advantage", given.advantage)
        if given.target is not None:
            assembly.add_column("target", given.target)
        noted.update(given.metrics)
        if given.kept is not None:
            training.kept = np.flatnonzero(given.kept[assembly.sequence]).tolist()
    return noted


def _freeze_old(training: Training) -> dict[str, float]:
    """Compute the columns of the old policy, or take the engine's records and measure their deviation."""
    noted: dict[str, float] = {}
    bypass = training.config.old_logprobs == "rollout"
    if training.network.kind == "critic" or ("old_logp" in training.objective.needs and not bypass):
        limit = training.config.micro_batch_tokens
        entropy = add_old(training.network, training.assembly, limit, training.ranks)
        if "entropy" not in training.objective.needs:  # else it is a metric of the loss, per step
            noted["entropy"] = entropy
    if not bypass:
        return noted
    sampled = [
        sequence.policy_version is not None or _has_logp(sequence) for sequence in training.fitting.sequences
    ]
    found = training.ranks.gathered(_gap(training, training.network, sampled))[0]
    bypass_old(training.assembly)
    return {**noted, "old_mismatch": found.mean}


def hold(training: Training, anchor: Anchor, seed: int) -> None:
    """Regularise the network towards its anchor, as configured."""
    config = training.config
    if not config.distillation and config.ewc is None:
        return
    limit, ranks = config.micro_batch_tokens, training.ranks
    check_kept(config, anchor.checkpoint.path)
    network = _reference(training, anchor.checkpoint, with_adapters=config.ewc is not None)
    if config.ewc is not None:
        longest = min(limit, positions(network.model))
        found = consolidation(anchor, network, config.ewc, longest, seed, ranks)
        training.penalty = Penalty(training.network.language(), found, config.ewc.strength, ranks)
    if config.distillation:
        if config.distillation_form == "full":
            network.model.eval()
            training.network = replace(training.network, teacher=network)
        else:
            add_anchored(network, training.assembly, limit, ranks)
        training.objective = distilled(training.objective, config.distillation)


def _reference(training: Training, reference: Checkpoint, *, with_adapters: bool = False) -> Network:
    """The reference model as a network with the settings, device and sharding of the trained one."""
    network, lora = training.network, training.config.lora
    model = load_model(reference.path, PACKED_ATTENTION, training.network.model.dtype)
    if vocabulary_size(model) != vocabulary_size(training.network.model):
        raise ConfigError(f"the reference {reference.path} has another vocabulary than {training.start.path}")
    adapters = adapted_from(model, lora, reference.path) if with_adapters and lora is not None else None
    reader = Reader(model)
    if training.ranks.size > 1:
        shard(reader, network.device, narrow=_narrow(network))
    else:
        torch.nn.Module.to(model, network.device)
    return replace(network, reader=reader, adapters=adapters, kind="policy")


def check_vocabulary(sequences: Sequence[TrainingSequence], model: PreTrainedModel) -> None:
    """Raise `ConfigError` where a training sequence has a token id outside of the model's vocabulary."""
    known = vocabulary_size(model)
    for sequence in sequences:
        if int(sequence.token_ids.max()) >= known or int(sequence.token_ids.min()) < 0:
            raise ConfigError(
                f"episode {sequence.trajectory_id} has token ids outside of the model's {known}: other"
                " tokenizer"
            )


def _engine_gap(training: Training, sampler: Checkpoint | None) -> Gap:
    """Gap on the training sequences of the `sampler`, or of the start where none is known.

    Small (rounding) as long as engine and learner compute the same model, at the temperature of each episode
    or `rollout_temperature`.
    """
    version = (sampler or training.start).version
    sampled = [sequence.policy_version == version for sequence in training.fitting.sequences]
    if sampler is None or sampler == training.start or not any(sampled):
        return _gap(training, training.network, sampled)
    return _gap(training, _reference(training, sampler), sampled)


def _gap(training: Training, network: Network, sampled: Sequence[bool]) -> Gap:
    """Gap between `network` and the engine on the `sampled` training sequences, at most `GAP_TOKENS`
    tokens.
    """
    sequences, indices, read = training.fitting.sequences, list[int](), 0
    for index in np.flatnonzero(sampled).tolist():
        if read < GAP_TOKENS:
            indices.append(index)
            read += len(sequences[index].token_ids)
    network = replace(network, kind="policy", temperature=_temperature(training.config), by_episode=True)
    gaps: list[torch.Tensor] = []
    with torch.no_grad():
        for chosen in micro_batches(sequences, [[i] for i in indices], training.config.micro_batch_tokens):
            engine = np.concatenate(
                [sequences[index].rollout_logp[sequences[index].mask] for index in chosen]
            )
            learner_N = network.read(packed(sequences, chosen)).columns["logp"].cpu()
            gaps.append((learner_N - torch.from_numpy(engine)).abs())
    gap_N = torch.cat(gaps) if gaps else torch.empty(0)
    return Gap(gap_N.mean().item(), len(gap_N))


def _has_logp(sequence: TrainingSequence) -> bool:
    return bool(np.isfinite(sequence.rollout_logp[sequence.mask]).any())


def _temperature(config: LearnConfig) -> float:
    return 1.0 if config.rollout_temperature is None else config.rollout_temperature
