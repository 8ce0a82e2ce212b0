"""Which rows can be trained on, and why the others cannot."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from agentevol.errors import ConfigError
from agentevol.protocols import TrainingSequence

ROUNDING = 1e-6
"""A certain token's log-probability may come out as much above 0."""


class NothingToLearn(ConfigError):
    """No row with a trained token and a positive weight is left; a loop skips the update and reports it."""


@dataclass(frozen=True)
class Fitting:
    """The rows that can be trained on, and how many cannot. The counts add up to the rows given."""

    rows: tuple[TrainingSequence, ...]
    """Cut after their last trained token, since what follows it has no influence on the loss, unless a critic
    values the state there.
    """
    dropped_overflow: int
    """Rows longer than the limit."""
    dropped_empty: int
    """Rows without a trained token."""
    dropped_weightless: int
    """Rows of weight 0."""
    dropped_incomplete: int
    """Rows whose episode, or whose other side of the pair, was dropped for one of these reasons."""
    dropped_identical: int = 0
    """Rows of pairs whose sides learn the same tokens after the same ones: there is nothing to tell apart."""

    def reasons(self, limit: int) -> str:
        """Why rows were dropped; `limit` is the number of tokens above which they were."""
        counts = {
            "without a trained token": self.dropped_empty,
            "of weight 0": self.dropped_weightless,
            f"above {limit} tokens (learn.micro_batch_tokens, the model's positions)": self.dropped_overflow,
            "without their other rows": self.dropped_incomplete,
            "of pairs whose sides are the same": self.dropped_identical,
        }
        return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count) or "none was given"


def fit(
    rows: Sequence[TrainingSequence],
    max_tokens: int,
    overflow: Literal["drop", "error"] = "drop",
    *,
    closing: bool = False,
) -> Fitting:
    """Keep the rows that can be trained on, cut after their last trained token.

    `closing` keeps what follows it, where that fits, in rows of episodes that a limit cut off.

    Raises `ConfigError` for a negative or not finite weight, a first token that is marked as learnt, arrays
    of different lengths, rewards that are not finite, sampled log-probabilities above 0 or infinite and,
    where `overflow` is "error", a row (so cut) longer than `max_tokens`. An episode with rewards is kept with
    all of its rows or not at all, and so is a pair.
    """
    kept: list[TrainingSequence] = []
    broken: set[Hashable] = set()
    empty = weightless = too_long = 0
    for row in rows:
        _check(row)
        if not row.mask.any():
            empty += 1
        elif row.weight == 0:
            weightless += 1
        elif (length := _needed(row, max_tokens, closing)) <= max_tokens:
            kept.append(_cut(row, length))
        elif overflow == "error":
            raise ConfigError(f"episode {row.trajectory_id} has {length} tokens, more than {max_tokens}")
        else:
            too_long += 1
            broken.add(_episode(row))
    whole = _two_sided([row for row in kept if row.episode is None or _episode(row) not in broken])
    unlike = _unlike(whole)
    incomplete, identical = len(kept) - len(whole), len(whole) - len(unlike)
    return Fitting(tuple(unlike), too_long, empty, weightless, incomplete, identical)


def _needed(row: TrainingSequence, max_tokens: int, closing: bool) -> int:
    """How many tokens of the row are read."""
    if closing and row.episode is not None and row.episode.truncated and len(row.token_ids) <= max_tokens:
        return len(row.token_ids)
    return int(row.mask.nonzero()[0][-1]) + 1


def _episode(row: TrainingSequence) -> Hashable:
    return (row.unit, row.side, row.trajectory_id)


def _two_sided(rows: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Without pairs of which one side is missing, and without units whose row of side 0 is."""
    sides: dict[str, set[int]] = {}
    for row in rows:
        sides.setdefault(row.unit, set()).add(row.side)
    return [row for row in rows if not (row.unit and row.side) or _is_whole(sides[row.unit])]


def _is_whole(sides: set[int]) -> bool:
    return sides >= {1, -1} or 0 in sides


def _unlike(rows: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Without pairs whose sides are the same."""
    said: dict[str, dict[int, list[bytes]]] = {}
    for row in rows:
        if row.unit and row.side:
            ours = said.setdefault(row.unit, {}).setdefault(row.side, [])
            ours.append(row.token_ids.tobytes() + row.mask.tobytes())
    alike = {unit for unit, sides in said.items() if len(sides) == 2 and sides[1] == sides[-1]}
    return [row for row in rows if row.unit not in alike]


def _check(row: TrainingSequence) -> None:
    """Raise `ConfigError` for a row that breaks the contract of `TrainingSequence`."""
    if not (len(row.token_ids) == len(row.mask) == len(row.rollout_logp)):
        raise ConfigError(f"episode {row.trajectory_id}: tokens, mask and log-probabilities differ in length")
    if not (np.isfinite(row.weight) and row.weight >= 0):
        raise ConfigError(
            f"episode {row.trajectory_id} has weight {row.weight}: weights are finite and at least 0"
        )
    if row.episode is not None and not np.isfinite(row.episode.rewards).all():
        raise ConfigError(
            f"episode {row.trajectory_id} has a reward that is not finite: leave out what nobody scored"
        )
    said = row.rollout_logp[row.mask]
    if (np.isinf(said) | (said > ROUNDING)).any():
        raise ConfigError(
            f"episode {row.trajectory_id} has a sampled token whose log-probability is not finite or above 0"
        )
    if len(row.mask) and row.mask[0]:
        raise ConfigError(f"episode {row.trajectory_id} learns its first token, which nothing predicts")


def _cut(row: TrainingSequence, length: int) -> TrainingSequence:
    """The first `length` tokens of a row."""
    if length == len(row.token_ids):
        return row
    return replace(
        row,
        token_ids=row.token_ids[:length],
        mask=row.mask[:length],
        rollout_logp=row.rollout_logp[:length],
        turn=None if row.turn is None else row.turn[:length],
        labels=None if row.labels is None else row.labels[:length],
        label_samples=None if row.label_samples is None else row.label_samples[:length],
    )
