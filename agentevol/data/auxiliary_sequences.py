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


def with_rows_beside(rows: Sequence[TrainingSequence], objective: Objective) -> list[TrainingSequence]:
    """Training sequences, with the auxiliary ones that the options of the algorithm require."""
    if objective.options.get("kto_reference") == "mismatched":
        return mismatched(rows)
    return whole_rows(rows) if objective.options.get("nll_scope") == "all" else list(rows)


def mismatched(rows: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Labelled training sequences, and for each an auxiliary one: its prompt with the completion of another
    prompt.

    A prompt is everything before the first learnt token. In the order of prompts, each sequence is combined
    with the one at a distance of the most frequent prompt's number of sequences, whose prompt differs unless
    more than half share one. Where it does not, and beyond an episode's first sequence, there is none.

    Raises `NothingToLearn` where no two sequences have different prompts.
    """
    prompts = [_prompt(row) for row in rows]
    named = [replace(row, unit=f"label {row.trajectory_id}") for row in rows]
    first = {row.trajectory_id: index for index, row in reversed(list(enumerate(rows))) if row.mask.any()}
    order = sorted(first.values(), key=lambda index: (prompts[index], index))
    shift = max(Counter(prompts[index] for index in order).values(), default=0)
    partners = zip(order, order[shift:] + order[:shift], strict=True)
    found = {
        index: _beside(named[index], rows[other])
        for index, other in partners
        if prompts[index] != prompts[other]
    }
    if not found:
        raise NothingToLearn(
            "learn.options.kto_reference = 'mismatched' needs rows with different prompts, and all"
            f" {len(rows)} have the same: take 'batch'"
        )
    beside = {row.unit for row in found.values()}
    kept = [row if row.unit in beside else replace(row, unit="") for row in named]
    return [*kept, *found.values()]


def whole_rows(rows: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Training sequences of pairs, and each chosen one as an auxiliary sequence in which all but the first
    token is learnt.
    """
    return [*rows, *(_whole(row) for row in rows if row.side == 1)]


def _prompt(row: TrainingSequence) -> bytes:
    return row.token_ids[: int(row.mask.argmax())].tobytes()


def _beside(row: TrainingSequence, other: TrainingSequence) -> TrainingSequence:
    """Concatenate the prompt of `row` and the completion of `other`, with the same tokens learnt."""
    own, others = int(row.mask.argmax()), int(other.mask.argmax())
    mask = np.concatenate([np.zeros(own, dtype=np.bool_), other.mask[others:]])
    joined = replace(
        row,
        token_ids=np.concatenate([row.token_ids[:own], other.token_ids[others:]]),
        mask=mask,
        trajectory_id=other.trajectory_id,
    )
    return _unsampled(joined)


def _whole(row: TrainingSequence) -> TrainingSequence:
    end = int(row.mask.nonzero()[0][-1]) + 1 if row.mask.any() else 0
    mask = np.arange(len(row.token_ids)) < end
    mask[:1] = False
    return _unsampled(replace(row, mask=mask))


def _unsampled(row: TrainingSequence) -> TrainingSequence:
    """Convert the training sequence to side 0: without engine log-probabilities and without an episode."""
    unknown = np.full(len(row.token_ids), np.nan, np.float32)
    return replace(
        row,
        rollout_logp=unknown,
        side=0,
        weight=1.0,
        policy_version=None,
        turn=None,
        episode=None,
        margin=0.0,
    )
