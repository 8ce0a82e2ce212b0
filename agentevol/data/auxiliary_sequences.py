"""Auxiliary sequences: training sequences of side 0, which a loss reads beside those that it learns from.

Two answers to two prompts, learnt tokens in brackets:

    KTO     p [a b]   q [c d e]     and, for its reference point, mismatched:   p [c d e]   q [a b]
    ORPO    p [a b] chosen, p [c] rejected     and, for nll_scope = "all", whole:   [p a b]

They are read in every step, under the policy and under the reference model, as in the original papers' code;
metrics that count tokens include theirs.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from agentevol.core.algorithms.contract import Objective
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.trainable_sequences import NothingToLearn


def with_auxiliary_sequences(
    sequences: Sequence[TrainingSequence], objective: Objective
) -> list[TrainingSequence]:
    """Training sequences, with the auxiliary ones that the options of the algorithm require."""
    if objective.options.get("kto_reference") == "mismatched":
        return mismatched(sequences)
    return whole_sequences(sequences) if objective.options.get("nll_scope") == "all" else list(sequences)


def mismatched(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Labelled training sequences, and for each an auxiliary one: its prompt with the completion of another
    prompt.

    A prompt is everything before the first learnt token. In the order of prompts, each sequence is combined
    with the one at a distance of the most frequent prompt's number of sequences, whose prompt differs unless
    more than half share one. Where it does not, and beyond an episode's first sequence, there is none.

    Raises `NothingToLearn` where no two sequences have different prompts.
    """
    prompts = [_prompt(sequence) for sequence in sequences]
    named = [replace(sequence, unit=f"label {sequence.trajectory_id}") for sequence in sequences]
    first = {
        sequence.trajectory_id: index
        for index, sequence in reversed(list(enumerate(sequences)))
        if sequence.mask.any()
    }
    order = sorted(first.values(), key=lambda index: (prompts[index], index))
    shift = max(Counter(prompts[index] for index in order).values(), default=0)
    partners = zip(order, order[shift:] + order[:shift], strict=True)
    found = {
        index: _beside(named[index], sequences[other])
        for index, other in partners
        if prompts[index] != prompts[other]
    }
    if not found:
        raise NothingToLearn(
            "learn.options.kto_reference = 'mismatched' needs sequences with different prompts, and all"
            f" {len(sequences)} have the same: take 'batch'"
        )
    beside = {sequence.unit for sequence in found.values()}
    kept = [sequence if sequence.unit in beside else replace(sequence, unit="") for sequence in named]
    return [*kept, *found.values()]


def whole_sequences(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Training sequences of pairs, and each chosen one as an auxiliary sequence in which all but the first
    token is learnt.
    """
    return [*sequences, *(_whole(sequence) for sequence in sequences if sequence.side == 1)]


def _prompt(sequence: TrainingSequence) -> bytes:
    return sequence.token_ids[: int(sequence.mask.argmax())].tobytes()


def _beside(sequence: TrainingSequence, other: TrainingSequence) -> TrainingSequence:
    """Concatenate the prompt of `sequence` and the completion of `other`, with the same tokens learnt."""
    own, others = int(sequence.mask.argmax()), int(other.mask.argmax())
    mask = np.concatenate([np.zeros(own, dtype=np.bool_), other.mask[others:]])
    joined = replace(
        sequence,
        token_ids=np.concatenate([sequence.token_ids[:own], other.token_ids[others:]]),
        mask=mask,
        trajectory_id=other.trajectory_id,
    )
    return _unsampled(joined)


def _whole(sequence: TrainingSequence) -> TrainingSequence:
    end = int(sequence.mask.nonzero()[0][-1]) + 1 if sequence.mask.any() else 0
    mask = np.arange(len(sequence.token_ids)) < end
    mask[:1] = False
    return _unsampled(replace(sequence, mask=mask))


def _unsampled(sequence: TrainingSequence) -> TrainingSequence:
    """Convert the training sequence to side 0: without engine log-probabilities and without an episode."""
    unknown = np.full(len(sequence.token_ids), np.nan, np.float32)
    return replace(
        sequence,
        rollout_logp=unknown,
        side=0,
        weight=1.0,
        policy_version=None,
        turn=None,
        episode=None,
        margin=0.0,
        preference=1.0,
    )
