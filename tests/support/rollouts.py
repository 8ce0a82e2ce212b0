"""Rollouts from plain lists, for tests of advantages."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agentevol.core.algorithms.contract import Floats, Rollouts, Steps


def rollouts_of(
    reward: Any,
    mask: Any,
    group: Sequence[Any],
    *,
    truncated: Sequence[bool] | None = None,
    costs: Mapping[str, Sequence[float]] | None = None,
    multipliers: Mapping[str, float] | None = None,
    steps: Steps | None = None,
    step: Any = None,
    final_value: Sequence[float] | None = None,
    **columns: Any,
) -> Rollouts:
    """Rollouts of rows (B, T), each an episode of one turn unless `steps` and `step` (B, T) say more.

    `reward` is (B, T), or (B,): then it sits on the last learnt token of the row. `final_value` is (B,).
    """
    chosen = np.asarray(mask, dtype=np.bool_)
    if not chosen.any(axis=1).all():
        raise ValueError("an episode without a learnt token is no rollout")
    lengths = chosen.sum(axis=1)
    rewards = np.asarray(reward, dtype=np.float64)
    if rewards.ndim == 1:
        last = chosen.shape[1] - 1 - chosen[:, ::-1].argmax(axis=1)
        of_sequences, rewards = rewards, np.zeros(chosen.shape)
        rewards[np.arange(len(chosen)), last] = of_sequences
    sequence = np.repeat(np.arange(len(chosen)), lengths)
    token_steps = sequence if step is None else np.asarray(step, dtype=np.int64)[chosen]
    returns = np.bincount(sequence, weights=rewards[chosen], minlength=len(chosen)).astype(np.float64)
    of_tokens: dict[str, Any] = {
        name: np.asarray(values, dtype=np.float64)[chosen] for name, values in columns.items()
    }
    return Rollouts(
        sequence=sequence,
        step=token_steps,
        reward=rewards[chosen],
        group=[str(name) for name in group],
        environment=(),
        truncated=np.asarray(truncated if truncated is not None else [False] * len(chosen)),
        costs={name: np.asarray(values, dtype=np.float64) for name, values in (costs or {}).items()},
        multipliers=multipliers or {},
        steps=steps if steps is not None else single_steps(returns, lengths),
        repeated=np.zeros(len(chosen)),
        final_value=np.zeros(len(chosen)) if final_value is None else np.asarray(final_value, np.float64),
        **of_tokens,
    )


def single_steps(
    rewards: Sequence[float] | Floats, lengths: Any, modes: Sequence[int] | None = None
) -> Steps:
    """One turn per episode."""
    count = len(rewards)
    return Steps(
        sequence=np.arange(count),
        turn=np.zeros(count, dtype=np.int64),
        reward=np.asarray(rewards, dtype=np.float64),
        anchor=[""] * count,
        mode=np.asarray(modes if modes is not None else [0] * count, dtype=np.int64),
        tokens=np.asarray(lengths, dtype=np.int64),
        invalid=np.zeros(count, dtype=np.bool_),
    )
