"""Batches from plain lists and random examples, for checks of algorithms."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agentevol.core.algorithms.contract import Algorithm, Batch, Rollouts, Steps, Totals

PER_SEQUENCE = frozenset(
    {"weight", "reward", "group", "group_tokens", "unit", "side", "margin", "preference"}
)
"""Columns of `Batch` with an entry for each sequence; the others have one for each token."""


def batch_of(
    logp: Any,
    mask: Any,
    *,
    weight: Sequence[float] | None = None,
    reward: Sequence[float] | None = None,
    group: Sequence[Any] | None = None,
    unit: Sequence[int] | None = None,
    side: Sequence[int] | None = None,
    margin: Sequence[float] | None = None,
    preference: Sequence[float] | None = None,
    **columns: Any,
) -> Batch:
    """A whole optimiser batch of rows (B, T), each a sequence of its own; float64.

    `columns` are the token columns of `Batch`, (B, T), or (B,) for one number a row. Rows without a learnt
    token are left out. `logp` (and `value`, `entropy`, `head`) may be tensors that require gradients, which
    flow through the batch; otherwise `batch.logp` is a leaf.
    """
    chosen = torch.as_tensor(mask, dtype=torch.bool)
    kept = chosen.any(dim=1).nonzero().squeeze(1)
    lengths = chosen.sum(dim=1)[kept]
    count = len(kept)

    def of_sequences(values: Any, default: float, dtype: torch.dtype = torch.float64) -> Tensor:
        rows = [default] * len(chosen) if values is None else values
        return torch.as_tensor(rows, dtype=dtype)[kept]

    weights, groups = of_sequences(weight, 1.0), of_sequences(_numbered(group, len(chosen)), 0, torch.int64)
    units = of_sequences(list(range(len(chosen))) if unit is None else unit, 0, torch.int64).unique(
        return_inverse=True
    )[1]
    same_group = groups[:, None] == groups[None, :]
    tokens = {
        name: _column(values, chosen, leaf=name in ("value", "entropy", "head"))
        for name, values in columns.items()
    }
    return Batch(
        logp=_column(logp, chosen, leaf=True),
        sequence=torch.arange(count).repeat_interleave(lengths),
        totals=_totals(tokens, lengths, weights, groups, units),
        weight=weights,
        reward=of_sequences(reward, 0.0),
        group=groups,
        group_tokens=(same_group * lengths).sum(dim=1).double(),
        unit=units,
        side=of_sequences(side, 0, torch.int64),
        margin=of_sequences(margin, 0.0),
        preference=of_sequences(preference, 1.0),
        training_sequence=torch.arange(count).repeat_interleave(lengths),
        **tokens,
    )


def _totals(
    tokens: Mapping[str, Tensor], lengths: Tensor, weights: Tensor, groups: Tensor, units: Tensor
) -> Totals:
    """Sums over the batch, of token columns and of columns with an entry for each sequence."""
    known_H = tokens["label"].isfinite().sum(dim=0).tolist() if "label" in tokens else []
    return Totals(
        tokens=int(lengths.sum()),
        weight=float((weights * lengths).sum()),
        sequences=len(lengths),
        groups=len(groups.unique()),
        units=len(units.unique()),
        replayed=int(tokens["ref_logp"].isfinite().sum()) if "ref_logp" in tokens else 0,
        labels=tuple(known_H),
        training_sequence_weight=float(weights.sum()),
        sequence_weight=float(weights.sum()),
    )


def _column(values: Any, chosen: Tensor, *, leaf: bool) -> Tensor:
    """Learnt entries of (B, T) or (B, T, H) values, or of (B,) ones, repeated along the rows."""
    if isinstance(values, Tensor) and values.requires_grad:
        return values[chosen]
    given = torch.as_tensor(values, dtype=torch.float64)
    if given.ndim == 1:
        given = given[:, None].expand(chosen.shape)
    return given[chosen].clone().requires_grad_(leaf)


def _numbered(names: Sequence[Any] | None, count: int) -> list[int]:
    if names is None:
        return list(range(count))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names]


def example_batch(
    chosen: Algorithm, seed: int, *, sequences: int = 8, tokens: int = 6, beside: bool = False
) -> Batch:
    """A random optimiser batch with every column that any algorithm reads, shaped as `chosen` expects it.

    Groups of four, the last with a tie; pairs of neighbours, the better one first; labels and rewards that
    agree with the sides. A reward model of pairs scores one token of each sequence, with twenty heads, a
    multiple of four and of five. `beside` makes every third sequence one of side 0 of the unit before.
    """
    random = np.random.default_rng(seed)
    shape = (sequences, tokens)
    mask = random.random(shape) < 0.7
    mask[:, 0] = True
    if scored := chosen.model == "reward" and chosen.data == "pairs":
        mask[:, 1:] = False
    numbers = np.arange(sequences)
    logp = -random.exponential(1.0, shape)
    units = {"pairs": numbers // 2, "groups": numbers // 4}.get(chosen.data, numbers)
    sides = np.where(numbers % 2 == 0, 1, -1)
    if beside:
        units, sides = numbers // 3, np.array([1, -1, 0])[numbers % 3]
    heads = (*shape, 20 if scored else 2)
    head = random.normal(size=heads) if chosen.model == "reward" else None
    columns = {
        "old_logp": np.minimum(logp + random.normal(0, 0.3, shape), -1e-3),
        "ref_logp": np.minimum(logp + random.normal(0, 0.3, shape), -1e-3),
        "rollout_logp": np.minimum(logp + random.normal(0, 0.5, shape), -1e-3),
        "advantage": random.normal(size=shape),
        "target": random.normal(size=shape),
        "value": random.normal(size=shape),
        "old_value": random.normal(size=shape),
        "entropy": random.random(shape),
    }
    if head is not None:
        label = np.where(random.random(heads) < 0.2, 0.0, random.random(heads))
        columns |= {"head": head, "label": label, "label_samples": random.integers(1, 9, shape)}
    weights, rewards = 0.5 + random.random(sequences), random.random(sequences)
    rewards[-1] = rewards[-2]
    return batch_of(
        logp,
        mask,
        weight=weights.tolist(),
        reward=rewards.tolist(),
        group=(numbers // 4).tolist(),
        unit=units.tolist(),
        side=sides.tolist(),
        margin=(0.1 * random.random(sequences // 2).repeat(2)).tolist(),
        **columns,
    )


def part_of(batch: Batch, sequences: Sequence[int]) -> Batch:
    """Micro-batch of these sequences, in this order, of an optimiser batch."""
    chosen = torch.tensor(sequences)
    tokens = torch.cat([(batch.sequence == number).nonzero().squeeze(1) for number in sequences])
    lengths = batch.lengths[chosen].long()
    values: dict[str, Any] = {}
    for column in fields(Batch):
        whole = getattr(batch, column.name)
        if isinstance(whole, Tensor):
            values[column.name] = whole[chosen if column.name in PER_SEQUENCE else tokens]
    values["sequence"] = torch.arange(len(sequences)).repeat_interleave(lengths)
    values["unit"] = values["unit"].unique(return_inverse=True)[1]
    return Batch(totals=batch.totals, **values)


def example_rollouts(
    seed: int, *, groups: int = 3, samples: int = 4, turns: int = 3, failed: bool = False
) -> Rollouts:
    """Random episodes with several turns, recurring states, modes, costs and all columns; the last is a group
    of its own.

    In the first two groups each episode keeps to one mode and one state, and the modes earn the same, or in
    the second group nearly so; in the others, an invalid action may have no mode. If `failed`, the last group
    of several has returns of 0.
    """
    random = np.random.default_rng(seed)
    episodes = groups * samples + 1
    per_turn = random.integers(1, 4, size=(episodes, turns))
    sequence = np.repeat(np.arange(episodes), per_turn.sum(axis=1))
    step = np.repeat(np.arange(episodes * turns), per_turn.ravel())
    rewards = np.round(random.random(episodes * turns), 2)
    invalid = random.random(episodes * turns) < 0.3
    mode = np.where(invalid, -1, random.integers(1, 5, size=episodes * turns))
    anchor = [f"room {random.integers(0, 2)}" for _ in range(episodes * turns)]
    settled = np.arange(2 * samples).repeat(turns)
    equal = slice(len(settled))
    nearly = 0.01 * settled * (settled >= samples)
    rewards[equal] = np.tile(np.linspace(0.2, 0.8, turns), 2 * samples) + nearly
    mode[equal] = settled % samples + 1
    anchor[equal] = ["room 0"] * len(settled)
    if failed:
        rewards[(groups - 1) * samples * turns : groups * samples * turns] = 0.0
    reward = np.zeros(len(step))
    reward[np.flatnonzero(np.diff(np.append(step, -1)))] = rewards
    return Rollouts(
        sequence=sequence,
        step=step,
        reward=reward,
        group=[f"task-{number // samples}" for number in range(episodes)],
        truncated=random.random(episodes) < 0.4,
        costs={"harm": np.maximum(0.0, np.round(random.random(episodes) - 0.3, 2))},
        multipliers={"harm": 0.5},
        steps=Steps(
            sequence=np.repeat(np.arange(episodes), turns),
            turn=np.tile(np.arange(turns), episodes),
            reward=rewards,
            anchor=anchor,
            mode=mode,
            tokens=per_turn.ravel(),
            invalid=invalid,
        ),
        old_logp=-random.exponential(1.0, len(step)),
        ref_logp=-random.exponential(1.0, len(step)),
        rollout_logp=-random.exponential(1.0, len(step)),
        value=random.normal(size=len(step)),
        final_value=random.normal(size=episodes),
        repeated=np.linspace(0.0, 1.0, episodes),
        baseline=np.where(np.arange(episodes) == 0, np.nan, np.linspace(0.2, 0.9, episodes)),
    )
