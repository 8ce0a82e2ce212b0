"""Checkpoint of a learner: unsharded weights, heads, and the list of learnt episodes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Anchor, Checkpoint, TrainingSequence
from agentevol.learn.continual.interpolation import toward
from agentevol.learn.distributed.ranks import Ranks
from agentevol.learn.distributed.sharding import on_first
from agentevol.learn.heads import linear
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.model_checks import precision
from agentevol.learn.network.network import Network, Reader
from agentevol.models import lora
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import Lineage, save

SEQUENCES = "sequences.jsonl"
"""File in a checkpoint: a line for each learnt training sequence, with the id of its episode."""


def write(
    network: Network,
    config: LearnConfig,
    start: Checkpoint,
    out: Path,
    lineage: Lineage,
    learnt: Sequence[TrainingSequence],
    ranks: Ranks,
    extra: Mapping[str, bytes],
    anchor: Anchor | None = None,
) -> dict[str, float]:
    """Write the checkpoint `out`, adapters merged, on rank 0; every rank returns once it is complete.

    Adapters on weights in bf16 are merged into the start's own weights, which are not rounded.

    `extra` are further files by name. The network is unusable afterwards. With `config.interpolation` the
    weights are mixed with those of `anchor` first; returns the metrics of that, which the checkpoint stores.
    """
    mixed: dict[str, float] = {}
    if ranks.size > 1 or network.model.dtype != torch.float32:
        network = _in_one_piece(network, config, start, ranks)
    if ranks.rank == 0:
        files = dict(extra)
        if network.adapters is not None:
            if config.lora is not None and config.lora.keep:
                files[lora.FILE] = lora.to_bytes(network.model)
            network.adapters.merge_and_unload()  # in place
        torch.nn.Module.to(network.model, device="cpu")
        if anchor is not None and config.interpolation is not None:
            mixed = toward(network.model, anchor.checkpoint.path, config.interpolation)
            lineage = lineage.model_copy(update={"metrics": {**lineage.metrics, **mixed}})
        torch.nn.Module.to(network.model, dtype=precision(config.save_dtype))
        files[SEQUENCES] = "".join(json.dumps(_origin(sequence)) + "\n" for sequence in learnt).encode()
        if network.heads is not None:
            files[linear.FILE] = linear.to_bytes(network.heads)
        save(network.model, start.path, out, lineage, files)
    ranks.wait()
    return mixed


def _origin(sequence: TrainingSequence) -> dict[str, str | int | float]:
    found = {"episode": sequence.trajectory_id, "tokens": int(sequence.mask.sum()), "weight": sequence.weight}
    found |= {"replayed": True} if sequence.replayed else {}
    return found | ({"unit": sequence.unit, "side": sequence.side} if sequence.unit or sequence.side else {})


def _in_one_piece(network: Network, config: LearnConfig, start: Checkpoint, ranks: Ranks) -> Network:
    """The start in float32 with the trained weights, on the CPU, on rank 0; the others only send their
    parts.
    """
    trained = [named for named in network.reader.named_parameters() if named[1].requires_grad]
    tensors = on_first(trained, ranks)
    if ranks.rank:
        return network
    model = load_model(start.path, PACKED_ATTENTION)
    adapters = None if config.lora is None else lora.adapted_from(model, config.lora, start.path)
    own = None if network.heads is None else linear.new_heads(model, network.heads.out_features)
    reader = Reader(model, own)
    for name, parameter in reader.named_parameters():
        if parameter.requires_grad:
            parameter.data = tensors[name]
    return replace(network, reader=reader, adapters=adapters)
