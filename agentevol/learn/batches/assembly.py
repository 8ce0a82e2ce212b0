"""Training sequences in the form that algorithms read: learnt tokens, with the sequence, unit and group of
each.

The training sequences of one episode (several where the template rewrote earlier turns) are one sequence. An
episode on the chosen side of two pairs is two sequences.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from agentevol.core.algorithms.contract import ABSENT, Batch, Floats, Integers, Rollouts, Steps, Totals
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import EpisodeFacts, TrainingSequence

Columns = dict[str, list[NDArray[np.float32]]]
"""Name to the values at each training sequence's learnt tokens, (n,) or (n, H)."""


FROZEN = {
    "old_logp": "old_logp",
    "ref_logp": "ref_logp",
    "rollout_logp": "rollout_logp",
    "value": "old_value",
}
"""Columns of `Rollouts` and their names in losses: losses also have the trained value, as `value`."""


@dataclass(frozen=True)
class OptimiserBatch:
    """The training sequences of one optimiser step, with their denominators."""

    indices: tuple[int, ...]
    totals: Totals
    group_tokens: Floats
    """Learnt tokens of every group of the assembly within this batch."""


class Assembly:
    """R training sequences, each with at least one learnt token, that form J sequences."""

    def __init__(self, training_sequences: Sequence[TrainingSequence]) -> None:
        self.training_sequences = training_sequences
        self.learnt = [one.mask.nonzero()[0] for one in training_sequences]
        """Positions of each training sequence's learnt tokens."""
        self.tokens: Integers = np.asarray([len(positions) for positions in self.learnt], dtype=np.int64)
        self.sequence = _numbered([_sequence_key(one) for one in training_sequences])
        """(R,) sequence number of each training sequence."""
        first = _first(self.sequence)
        heads = [training_sequences[index] for index in first]
        self.weight = np.asarray([one.weight for one in heads], dtype=np.float64)
        self.reward = np.asarray([_return(one) for one in heads], dtype=np.float64)
        self.side: Integers = np.asarray([one.side for one in heads], dtype=np.int64)
        self.margin = np.asarray([one.margin for one in heads], dtype=np.float64)
        self.preference = np.asarray([one.preference for one in heads], dtype=np.float64)
        self.group = _numbered([_group(one) for one in heads])
        self.unit = _numbered([one.unit or _sequence_key(one) for one in heads])
        self.final_value: Floats = ABSENT
        """(J,) see `Rollouts`."""
        self._heads = heads
        self.columns: Columns = {
            "rollout_logp": [
                one.rollout_logp[positions]
                for one, positions in zip(training_sequences, self.learnt, strict=True)
            ]
        }
        self._add_where_given("label", [one.labels for one in training_sequences])
        self._add_where_given("label_samples", [one.label_samples for one in training_sequences])

    def atoms(
        self, together: Literal["sequence", "unit", "batch"], among: Sequence[int] | None = None
    ) -> list[list[int]]:
        """Inseparable sets of indices of training sequences (of `among`, or all): the training sequences of a
        sequence, or of a unit. With `together` batch the optimiser batches are divided between units as well.
        """
        indices = range(len(self.training_sequences)) if among is None else among
        keys = self.sequence if together == "sequence" else self.unit[self.sequence]
        found: dict[int, list[int]] = {}
        for index in indices:
            found.setdefault(int(keys[index]), []).append(index)
        return list(found.values())

    def optimiser_batch(self, indices: Sequence[int]) -> OptimiserBatch:
        """Optimiser batch of these training sequences, with its denominators."""
        sequences = self.sequence[list(indices)]
        tokens = self.tokens[list(indices)]
        present = np.unique(sequences)
        totals = Totals(
            tokens=int(tokens.sum()),
            weight=float((self.weight[sequences] * tokens).sum()),
            sequences=len(present),
            groups=len(np.unique(self.group[present])),
            units=len(np.unique(self.unit[present])),
            replayed=int(
                sum(self.tokens[index] for index in indices if self.training_sequences[index].replayed)
            ),
            labels=self._known_labels(indices),
            training_sequence_weight=float(self.weight[sequences].sum()),
            sequence_weight=float(self.weight[present].sum()),
        )
        group_tokens = np.bincount(
            self.group[sequences], weights=tokens.astype(np.float64), minlength=int(self.group.max()) + 1
        )
        return OptimiserBatch(tuple(indices), totals, np.asarray(group_tokens, dtype=np.float64))

    def batch(
        self, whole: OptimiserBatch, indices: Sequence[int], outputs: Mapping[str, torch.Tensor]
    ) -> Batch:
        """Input of a loss for these training sequences, in this order; `outputs` are the model's columns for
        them.
        """
        chosen = list(indices)
        device = next(iter(outputs.values())).device
        present, local = np.unique(self.sequence[chosen], return_inverse=True)

        def numbers(values: Floats) -> torch.Tensor:
            return torch.from_numpy(values.astype(np.float32)).to(device)

        def integers(values: Integers) -> torch.Tensor:
            return torch.from_numpy(values.astype(np.int64)).to(device)

        columns = {
            name: torch.from_numpy(np.concatenate([values[index] for index in chosen])).to(device)
            for name, values in self.columns.items()
        }
        sequence = np.repeat(local, self.tokens[chosen])
        fixed = {"logp": torch.zeros(len(sequence), device=device)} if "logp" not in outputs else {}
        return Batch(
            sequence=integers(sequence),
            totals=whole.totals,
            weight=numbers(self.weight[present]),
            reward=numbers(self.reward[present]),
            group=integers(self.group[present]),
            group_tokens=numbers(whole.group_tokens[self.group[present]]),
            unit=integers(np.unique(self.unit[present], return_inverse=True)[1]),
            side=integers(self.side[present]),
            margin=numbers(self.margin[present]),
            preference=numbers(self.preference[present]),
            training_sequence=integers(np.repeat(np.arange(len(chosen)), self.tokens[chosen])),
            **columns,
            **fixed,
            **outputs,
        )

    def rollouts(self, multipliers: Mapping[str, float] | None = None) -> Rollouts:
        """Input of an advantage function: all training sequences, sequence by sequence; `multipliers` are the
        prices of costs.

        Raises `ConfigError` without rewards.
        """
        order = self._by_sequence()
        facts = [_facts(one) for one in self._heads]
        turns = np.asarray([len(fact.rewards) for fact in facts], dtype=np.int64)
        first = np.cumsum([0, *turns[:-1]])
        sequence = np.repeat(self.sequence[order], self.tokens[order])
        turn = np.concatenate([_turns(self.training_sequences[i])[self.learnt[i]] for i in order])
        step = first[sequence] + turn.astype(np.int64)
        rewards = np.concatenate([np.asarray(fact.rewards, dtype=np.float64) for fact in facts])
        reward = np.zeros(len(step))
        last = np.full(len(rewards), -1)
        last[step] = np.arange(len(step))  # the last assignment wins
        if (last < 0).any():
            raise ConfigError("an episode has turns that are not trained on: rewards need all of them")
        reward[last] = rewards
        return Rollouts(
            sequence=sequence,
            step=step,
            reward=reward,
            group=[fact.group for fact in facts],
            environment=[fact.environment for fact in facts],
            truncated=np.asarray([fact.truncated for fact in facts]),
            costs=_costs(facts),
            repeated=np.asarray([fact.repeated for fact in facts], dtype=np.float64),
            baseline=np.asarray(
                [np.nan if fact.baseline is None else fact.baseline for fact in facts], dtype=np.float64
            ),
            multipliers=multipliers or {},
            final_value=self.final_value,
            steps=_steps(facts, turns, np.bincount(step, minlength=len(rewards))),
            **{
                name: np.concatenate([self.columns[column][i] for i in order]).astype(np.float64)
                for name, column in FROZEN.items()
                if column in self.columns
            },
        )

    def cut_off(self) -> dict[int, int]:
        """Index of the last training sequence of each truncated sequence, by number of the sequence."""
        last = {int(number): index for index, number in enumerate(self.sequence)}
        facts = {number: self.training_sequences[index].episode for number, index in last.items()}
        return {number: last[number] for number, fact in facts.items() if fact and fact.truncated}

    def add_column(self, name: str, values_N: Floats) -> None:
        """Add a column whose values are in the order of `rollouts`."""
        order = self._by_sequence()
        parts = np.split(values_N.astype(np.float32), np.cumsum(self.tokens[order])[:-1])
        by_index = dict(zip(order, parts, strict=True))
        self.columns[name] = [by_index[index] for index in range(len(self.training_sequences))]

    def _add_where_given(self, name: str, values: Sequence[NDArray[np.float32] | None]) -> None:
        """Add a column if every training sequence has values for it."""
        given = [(each, where) for each, where in zip(values, self.learnt, strict=True) if each is not None]
        if len(given) == len(self.training_sequences):
            self.columns[name] = [each[where] for each, where in given]

    def _known_labels(self, indices: Sequence[int]) -> tuple[int, ...]:
        """Number of learnt tokens with a label, by head."""
        if "label" not in self.columns:
            return ()
        known = [np.isfinite(self.columns["label"][index]).sum(axis=0) for index in indices]
        return tuple(np.sum(known, axis=0).tolist())

    def _by_sequence(self) -> list[int]:
        return np.argsort(self.sequence, kind="stable").tolist()


def _sequence_key(training_sequence: TrainingSequence) -> Hashable:
    return (
        training_sequence.unit,
        training_sequence.side,
        training_sequence.trajectory_id,
        training_sequence.weight,
    )


def _group(training_sequence: TrainingSequence) -> Hashable:
    return (
        training_sequence.episode.group
        if training_sequence.episode is not None
        else _sequence_key(training_sequence)
    )


def _return(training_sequence: TrainingSequence) -> float:
    return sum(training_sequence.episode.rewards) if training_sequence.episode is not None else 0.0


def _facts(training_sequence: TrainingSequence) -> EpisodeFacts:
    if training_sequence.episode is None:
        raise ConfigError(f"episode {training_sequence.trajectory_id} comes without its rewards")
    return training_sequence.episode


def _turns(training_sequence: TrainingSequence) -> NDArray[np.int32]:
    if training_sequence.turn is None:
        raise ConfigError(f"episode {training_sequence.trajectory_id} has tokens without a turn number")
    return training_sequence.turn


def _numbered(keys: Sequence[Hashable]) -> Integers:
    """Number of each key, from 0, by first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.asarray([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _first(numbers: Integers) -> list[int]:
    """Index of the first appearance of each of 0, 1, ..."""
    return np.unique(numbers, return_index=True)[1].tolist()


def _costs(facts: Sequence[EpisodeFacts]) -> dict[str, Floats]:
    names = sorted({name for fact in facts for name in fact.costs})
    return {
        name: np.asarray([fact.costs.get(name, 0.0) for fact in facts], dtype=np.float64) for name in names
    }


def _steps(facts: Sequence[EpisodeFacts], turns: Integers, tokens: Integers) -> Steps:
    return Steps(
        sequence=np.repeat(np.arange(len(facts)), turns),
        turn=np.concatenate([np.arange(count) for count in turns]),
        reward=np.concatenate([np.asarray(fact.rewards, dtype=np.float64) for fact in facts]),
        anchor=[anchor for fact in facts for anchor in fact.anchors],
        mode=np.asarray([mode for fact in facts for mode in fact.modes], dtype=np.int64),
        tokens=tokens,
        invalid=np.asarray([invalid for fact in facts for invalid in fact.invalid], dtype=np.bool_),
        answer_tokens=_answer_tokens(facts, tokens),
    )


def _answer_tokens(facts: Sequence[EpisodeFacts], tokens: Integers) -> Integers | None:
    if not all(fact.answer_tokens for fact in facts):
        return None
    counted = np.asarray([count for fact in facts for count in fact.answer_tokens], dtype=np.int64)
    return np.where(counted > 0, counted, tokens)
