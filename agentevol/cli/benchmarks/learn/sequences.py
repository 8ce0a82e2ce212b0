"""Random training sequences like a household episode's, in the order of training.

    sft   150 tokens of task and room, then 2 to 14 turns of 6 trained tokens and 24 read ones
    dpo   two sequences with one prompt, 150 tokens and 0 to 6 turns of 30; each continues for 1 to 8 turns,
          all of which are trained, since TRL trains on all of a completion

Every step has sequences of the same lengths, with other tokens: the learner, which counts a step's tokens,
and trainers that count its sequences cut the data at the same places.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from agentevol.cli.benchmarks.learn.lanes import Lane
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.batch_plan import plan

FIRST_TOKENS, READ_TOKENS, ACTION_TOKENS = 150, 24, 6
TURN_TOKENS = READ_TOKENS + ACTION_TOKENS
SEED = 0
END = 1
"""Token that ends every sequence."""

Unit = list[TrainingSequence]
"""Indivisible unit: a sequence, or the chosen and the rejected sequence of a pair."""
Mask = NDArray[np.bool_]


def make_units(lane: Lane, steps: int) -> list[Unit]:
    """Data of `steps` optimiser steps, in the order of training."""
    random = np.random.default_rng(SEED)
    masks = _step_masks(lane, random)
    return [
        _unit(random, lane.shape.vocabulary, masks[at], f"{step}-{at}")
        for step in range(steps)
        for at in random.permutation(len(masks)).tolist()
    ]


def tokens_per_step(lane: Lane, units: Sequence[Unit]) -> int:
    """Tokens of one step's sequences, the same in every step."""
    count = lane.sequences_per_step // len(units[0])
    return sum(len(sequence.token_ids) for unit in units[:count] for sequence in unit)


def for_the_learner(units: Sequence[Unit]) -> list[TrainingSequence]:
    """Sequences of `units`, arranged so that the learner takes them in this order when its seed is `SEED`."""
    whole = sum(len(sequence.token_ids) for unit in units for sequence in unit)
    (taken,) = plan([unit[0] for unit in units], [[at] for at in range(len(units))], whole, 1, SEED)
    placed = dict(zip(taken, units, strict=True))
    return [sequence for at in range(len(units)) for sequence in placed[at]]


def _step_masks(lane: Lane, random: Generator) -> list[list[Mask]]:
    """Masks of every sequence of a step, unit by unit."""
    if lane.algorithm == "sft":
        return [[_episode(lane, random)] for _ in range(lane.sequences_per_step)]
    return [_pair(lane, random) for _ in range(lane.sequences_per_step // 2)]


def _episode(lane: Lane, random: Generator) -> Mask:
    if lane.length is not None:
        return _prompt_and_answer(lane.length // 8, lane.length)
    turns = int(random.integers(2, 15))
    mask = np.array([False] * FIRST_TOKENS + ([True] * ACTION_TOKENS + [False] * READ_TOKENS) * turns)
    return mask[: len(mask) - READ_TOKENS]


def _pair(lane: Lane, random: Generator) -> list[Mask]:
    if lane.length is not None:
        return [_prompt_and_answer(lane.length // 8, lane.length)] * 2
    prompt = FIRST_TOKENS + TURN_TOKENS * int(random.integers(0, 7))
    turns = random.integers(1, 9, 2).tolist()
    return [_prompt_and_answer(prompt, prompt + TURN_TOKENS * count - READ_TOKENS) for count in turns]


def _prompt_and_answer(prompt: int, length: int) -> Mask:
    return np.arange(length) >= prompt


def _unit(random: Generator, vocabulary: int, masks: Sequence[Mask], name: str) -> Unit:
    """Sequences of random tokens, with a common prefix up to the first trained token."""
    sequences: Unit = []
    for side, mask in zip((1, -1), masks, strict=False):
        token_ids = random.integers(END + 1, vocabulary, len(mask)).astype(np.int32)
        token_ids[-1] = END
        if sequences:
            prompt = int(mask.argmax())
            token_ids[:prompt] = sequences[0].token_ids[:prompt]
        unknown = np.full(len(mask), np.nan, np.float32)
        pair: dict[str, Any] = {"unit": name, "side": side} if len(masks) == 2 else {}
        sequences.append(TrainingSequence(token_ids, mask, unknown, 1.0, f"{name}-{side}", **pair))
    return sequences
