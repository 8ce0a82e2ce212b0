"""Training sequences of a few tokens."""

import numpy as np

from agentevol.core.protocols import TrainingSequence


def sequence(
    prompt: list[int], said: list[int], name: str, side: int = 1, unit: str = ""
) -> TrainingSequence:
    """A sequence whose tokens after the prompt are sampled and learnt."""
    ids = np.array([*prompt, *said], dtype=np.int32)
    mask = np.arange(len(ids)) >= len(prompt)
    logp = np.where(mask, -0.5, np.nan).astype(np.float32)
    return TrainingSequence(ids, mask, logp, 2.0, name, policy_version=1, side=side, unit=unit)


TWO_TASKS = [
    sequence([1], [5, 6], "a"),
    sequence([1], [7], "b", -1),
    sequence([2, 3], [8], "c"),
    sequence([2, 3], [9], "d", -1),
]
