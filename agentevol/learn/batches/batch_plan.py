"""Plan of a training: optimiser batches, micro-batches, and the schedule of the learning rate."""

import math
from collections.abc import Sequence

import numpy as np

from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.packing import first_fit


def plan(
    sequences: Sequence[TrainingSequence],
    atoms: Sequence[Sequence[int]],
    batch_tokens: int,
    epochs: int,
    seed: int,
) -> list[list[int]]:
    """Indices of training sequences of each optimiser step: every training sequence once an epoch, in an
    order drawn from `seed`.

    `atoms` are the inseparable sets of indices (see `Assembly.atoms`). A batch holds at most `batch_tokens`
    tokens, or one larger atom. It does not depend on the size of micro-batches.
    """
    orders = [
        np.random.default_rng([seed, epoch]).permutation(len(atoms)).tolist() for epoch in range(epochs)
    ]
    return [
        step
        for order in orders
        for step in _filled(sequences, [atoms[number] for number in order], batch_tokens)
    ]


def _filled(
    sequences: Sequence[TrainingSequence], atoms: Sequence[Sequence[int]], batch_tokens: int
) -> list[list[int]]:
    """Atoms, in this order, divided into optimiser batches."""
    steps: list[list[int]] = []
    room = 0
    for atom in atoms:
        length = tokens_of(sequences, atom)
        if length > room:
            steps.append([])
            room = batch_tokens
        steps[-1].extend(atom)
        room -= length
    return steps


def tokens_of(sequences: Sequence[TrainingSequence], indices: Sequence[int]) -> int:
    """Number of tokens that are read in these training sequences."""
    return sum(len(sequences[index].token_ids) for index in indices)


def micro_batches(
    sequences: Sequence[TrainingSequence], atoms: Sequence[Sequence[int]], max_tokens: int
) -> list[list[int]]:
    """Indices of training sequences of few forward passes of at most `max_tokens` tokens, the longest atoms
    first.

    Raises `ConfigError` for an atom that is larger.
    """
    lengths = np.asarray([tokens_of(sequences, atom) for atom in atoms], dtype=np.int64)
    bins = first_fit(lengths, np.argsort(-lengths, kind="stable"), max_tokens)
    return [[index for number in chosen for index in atoms[number]] for chosen in bins]


def learning_rate_factor(step: int, steps: int, warmup: int, schedule: str) -> float:
    """Factor of the learning rate in `step`, from 0: up over `warmup` steps, then by the schedule to 0."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    left = (steps - step) / max(1, steps - warmup)
    if schedule == "linear":
        return left
    return 0.5 - 0.5 * math.cos(math.pi * left) if schedule == "cosine" else 1.0
