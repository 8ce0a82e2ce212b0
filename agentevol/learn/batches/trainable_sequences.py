"""Selection of trainable sequences, with counts of the others by reason."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence

Overflow = Literal["drop", "cut_left_turns", "error"]

ROUNDING = 1e-6
"""Largest positive log-probability that is accepted as rounding of 0."""


class NothingToLearn(ConfigError):
    """No training sequence with a learnt token and a positive weight is left; a loop skips the update and
    reports it.
    """


@dataclass(frozen=True)
class Fitting:
    """Trainable sequences, and counts of the dropped ones. The counts add up to the sequences given."""

    sequences: tuple[TrainingSequence, ...]
    """Cut after their last learnt token, since later tokens have no influence on the loss, unless a critic
    computes the value of the final state.
    """
    dropped_overflow: int
    """Training sequences longer than the limit."""
    dropped_empty: int
    """Training sequences without a learnt token."""
    dropped_weightless: int
    """Training sequences of weight 0."""
    dropped_incomplete: int
    """Training sequences whose episode, or whose other side of the pair, was dropped for one of these
    reasons.
    """
    dropped_identical: int = 0
    """Training sequences of pairs whose sides learn the same tokens in the same context: they carry no
    preference.
    """
    cut_left: int = 0
    """Kept training sequences whose first turns were cut."""
    drift_events: int = 0
    """Turns whose prompt did not extend the previous tokens, in all episodes with a training sequence."""

    def reasons(self, limit: int) -> str:
        """Text with the counts of dropped sequences by reason; `limit` is the most tokens of one."""
        counts = {
            "without a trained token": self.dropped_empty,
            "of weight 0": self.dropped_weightless,
            f"above {limit} tokens (learn.micro_batch_tokens, the model's positions)": self.dropped_overflow,
            "without their other sequences": self.dropped_incomplete,
            "of pairs whose sides are the same": self.dropped_identical,
        }
        return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count) or "none was given"


def fit(
    sequences: Sequence[TrainingSequence],
    max_tokens: int,
    overflow: Overflow = "drop",
    *,
    closing: bool = False,
) -> Fitting:
    """Keep the trainable sequences, cut after their last learnt token.

    `closing` keeps later tokens, where they fit, in truncated episodes.

    Raises `ConfigError` for a negative or not finite weight, a first token that is marked as learnt, arrays
    of different lengths, rewards that are not finite, sampled log-probabilities above 0 or infinite and,
    where `overflow` is "error", a sequence (so cut) longer than `max_tokens`. With "cut_left_turns" the first
    turns of such a sequence are removed (`without_first_turns`), where that is enough. An episode with
    rewards is kept with all of its sequences or not at all, and so is a pair.
    """
    kept: list[TrainingSequence] = []
    broken: set[Hashable] = set()
    empty = weightless = too_long = cut_left = 0
    for sequence in sequences:
        _check(sequence)
        if not sequence.mask.any():
            empty += 1
        elif sequence.weight == 0:
            weightless += 1
        elif (length := _needed(sequence, max_tokens, closing)) <= max_tokens:
            kept.append(_cut(sequence, length))
        elif overflow == "error":
            raise ConfigError(f"episode {sequence.trajectory_id} has {length} tokens, more than {max_tokens}")
        elif overflow == "cut_left_turns" and (
            cut := without_first_turns(_cut(sequence, length), max_tokens)
        ):
            kept.append(cut)
            cut_left += 1
        else:
            too_long += 1
            broken.add(_episode(sequence))
    whole = _two_sided(
        [sequence for sequence in kept if sequence.episode is None or _episode(sequence) not in broken]
    )
    unlike = _unlike(whole)
    incomplete, identical = len(kept) - len(whole), len(whole) - len(unlike)
    drift_events = sum({sequence.trajectory_id: sequence.drift_events for sequence in sequences}.values())
    return Fitting(tuple(unlike), too_long, empty, weightless, incomplete, identical, cut_left, drift_events)


def without_first_turns(sequence: TrainingSequence, max_tokens: int) -> TrainingSequence | None:
    """Cut the training sequence to the tokens after its k-th learnt turn, for the least k with which it fits;
    None if none does.

    The opening is removed with the first turn. Log-probabilities of the engine are dropped, since they were
    computed after the whole context.
    """
    if sequence.turn is None:
        return None
    learnt = sequence.mask.nonzero()[0]
    ends = learnt[:-1][np.diff(sequence.turn[learnt]) != 0] + 1
    for begin in ends.tolist():
        if len(sequence.token_ids) - begin <= max_tokens:
            kept = _part(sequence, slice(begin, None))
            return replace(kept, rollout_logp=np.full_like(kept.rollout_logp, np.nan), policy_version=None)
    return None


def _needed(sequence: TrainingSequence, max_tokens: int, closing: bool) -> int:
    """Number of tokens that have to be read."""
    if (
        closing
        and sequence.episode is not None
        and sequence.episode.truncated
        and len(sequence.token_ids) <= max_tokens
    ):
        return len(sequence.token_ids)
    return int(sequence.mask.nonzero()[0][-1]) + 1


def _episode(sequence: TrainingSequence) -> Hashable:
    return (sequence.unit, sequence.side, sequence.trajectory_id)


def _two_sided(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Drop pairs of which one side is missing, and units whose sequence of side 0 is."""
    sides: dict[str, set[int]] = {}
    for sequence in sequences:
        sides.setdefault(sequence.unit, set()).add(sequence.side)
    return [
        sequence
        for sequence in sequences
        if not (sequence.unit and sequence.side) or _is_whole(sides[sequence.unit])
    ]


def _is_whole(sides: set[int]) -> bool:
    return sides >= {1, -1} or 0 in sides


def _unlike(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Drop pairs whose sides are the same."""
    said: dict[str, dict[int, list[bytes]]] = {}
    for sequence in sequences:
        if sequence.unit and sequence.side:
            ours = said.setdefault(sequence.unit, {}).setdefault(sequence.side, [])
            ours.append(sequence.token_ids.tobytes() + sequence.mask.tobytes())
    alike = {unit for unit, sides in said.items() if len(sides) == 2 and sides[1] == sides[-1]}
    return [sequence for sequence in sequences if sequence.unit not in alike]


def _check(sequence: TrainingSequence) -> None:
    """Raise `ConfigError` for a training sequence that breaks the contract of `TrainingSequence`."""
    if not (len(sequence.token_ids) == len(sequence.mask) == len(sequence.rollout_logp)):
        raise ConfigError(
            f"episode {sequence.trajectory_id}: tokens, mask and log-probabilities differ in length"
        )
    if not (np.isfinite(sequence.weight) and sequence.weight >= 0):
        raise ConfigError(
            f"episode {sequence.trajectory_id} has weight {sequence.weight}: weights are finite and at"
            " least 0"
        )
    if sequence.episode is not None and not np.isfinite(sequence.episode.rewards).all():
        raise ConfigError(
            f"episode {sequence.trajectory_id} has a reward that is not finite: leave out unscored sequences"
        )
    said = sequence.rollout_logp[sequence.mask]
    if (np.isinf(said) | (said > ROUNDING)).any():
        raise ConfigError(
            f"episode {sequence.trajectory_id} has a sampled token whose log-probability is not finite or"
            " above 0"
        )
    if len(sequence.mask) and sequence.mask[0]:
        raise ConfigError(f"episode {sequence.trajectory_id} learns its first token, which nothing predicts")


def _cut(sequence: TrainingSequence, length: int) -> TrainingSequence:
    """The first `length` tokens of a training sequence."""
    return sequence if length == len(sequence.token_ids) else _part(sequence, slice(length))


def _part(sequence: TrainingSequence, part: slice) -> TrainingSequence:
    return replace(
        sequence,
        token_ids=sequence.token_ids[part],
        mask=sequence.mask[part],
        rollout_logp=sequence.rollout_logp[part],
        turn=None if sequence.turn is None else sequence.turn[part],
        labels=None if sequence.labels is None else sequence.labels[part],
        label_samples=None if sequence.label_samples is None else sequence.label_samples[part],
    )
