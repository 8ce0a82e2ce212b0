"""Precomputed columns: log-probabilities and values under fixed weights, computed once before the first step.

pi_old is the learner's own pass with the weights at the start of the update, pi_ref that of a reference
model; pi_rollout, recorded by the engine, is neither.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from agentevol.core.algorithms.contract import Floats
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.packing import packed
from agentevol.learn.distributed.forward_passes import shared_out
from agentevol.learn.distributed.ranks import ALONE, Ranks
from agentevol.learn.network.network import Network


def add_old(network: Network, assembly: Assembly, max_tokens: int, ranks: Ranks = ALONE) -> float:
    """Add the columns `old_logp` and, with a critic, `old_value` and `final_value`, under the current
    network.

    Returns its entropy in nats, a mean over the learnt tokens.
    """
    found = _pass(network, assembly, max_tokens, ranks, entropy=True)
    assembly.columns["old_logp"] = found["logp"]
    if "value" in found:
        assembly.columns["old_value"] = found["value"]
        assembly.final_value = _final_values(network, assembly, max_tokens, ranks)
    return float(np.concatenate(found["entropy"]).mean())


def _final_values(critic: Network, assembly: Assembly, max_tokens: int, ranks: Ranks) -> Floats:
    """(J,) value of the last state of every truncated episode; 0 elsewhere.

    That is the state after all of the episode's last training sequence: after the observation that answers
    the last action, if the sequence contains it, and else after the action's own last token.
    """
    last = assembly.cut_off()
    values = np.zeros(len(assembly.weight))
    if last:
        ends = Assembly([_only_end(assembly.training_sequences[index]) for index in last.values()])
        said = _pass(replace(critic, kind="reward"), ends, max_tokens, ranks)["head"]  # after the token
        values[list(last)] = np.concatenate(said)[:, 0]
    return values


def _only_end(sequence: TrainingSequence) -> TrainingSequence:
    mask = np.zeros_like(sequence.mask)
    mask[-1] = True
    return replace(sequence, mask=mask)


def bypass_old(assembly: Assembly) -> None:
    """Set the column `old_logp` to the engine's records: pi_rollout in place of pi_old.

    Raises `ConfigError` for a learnt token that no engine sampled.
    """
    recorded = assembly.columns["rollout_logp"]
    for sequence, logp in zip(assembly.training_sequences, recorded, strict=True):
        if not np.isfinite(logp).all():
            raise ConfigError(
                f"episode {sequence.trajectory_id} has tokens that no engine sampled: learn.old_logprobs ="
                " 'rollout' needs the log-probability of each; take 'recomputed'"
            )
    assembly.columns["old_logp"] = recorded


def add_reference(
    reference: Network | None, network: Network, assembly: Assembly, max_tokens: int, ranks: Ranks = ALONE
) -> None:
    """Add the column `ref_logp`; None for `reference` is the network before its first step."""
    own, recorded = assembly.columns.get("old_logp"), assembly.columns["rollout_logp"]
    if reference is None and own is not None and own is not recorded:  # computed, not recorded by the engine
        assembly.columns["ref_logp"] = own
        return
    assembly.columns["ref_logp"] = _pass(reference or network, assembly, max_tokens, ranks)["logp"]


def add_anchored(anchor: Network, assembly: Assembly, max_tokens: int, ranks: Ranks = ALONE) -> None:
    """Add the column `ref_logp` of the replayed training sequences under the anchor, NaN elsewhere."""
    replayed = [index for index, sequence in enumerate(assembly.training_sequences) if sequence.replayed]
    column = [np.full(count, np.nan, np.float32) for count in assembly.tokens.tolist()]
    if replayed:
        said = _pass(anchor, assembly, max_tokens, ranks, replayed)["logp"]
        for index, values in zip(replayed, said, strict=True):
            column[index] = values
    assembly.columns["ref_logp"] = column


@torch.no_grad()
def _pass(
    network: Network,
    assembly: Assembly,
    max_tokens: int,
    ranks: Ranks,
    among: Sequence[int] | None = None,
    *,
    entropy: bool = False,
) -> dict[str, list[NDArray[np.float32]]]:
    """Columns of one forward pass over all training sequences, or `among`, one by one; each rank reads its
    share.
    """
    sequences, training = assembly.training_sequences, network.model.training
    chosen = range(len(sequences)) if among is None else among
    passes = shared_out(sequences, [[index] for index in chosen], max_tokens, ranks)
    network.model.eval()
    said = [
        network.read(packed(sequences, indices), entropy=entropy).columns
        for indices in (*passes.own, *passes.idle)
    ]
    network.model.train(training)
    by_sequence: dict[str, list[NDArray[np.float32]]] = {}
    for name, column in passes.joined(said, assembly.tokens).items():
        parts = column.float().cpu().split(assembly.tokens[passes.order].tolist())
        placed = dict(zip(passes.order, parts, strict=True))
        by_sequence[name] = [placed[index].numpy() for index in chosen]
    return by_sequence
