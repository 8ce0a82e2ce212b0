"""Final observation of truncated episodes, appended to their training sequences for a critic.

The critic computes the value of the last state there. None of its tokens are learnt:

    ... said n   answer n
        [8, 2,   3, 4]
        [T, T,   F, F]
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.packing import NO_TURN, UNKNOWN
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentgym_store.records import Trajectory


def with_closing(
    sequences: Sequence[TrainingSequence],
    trajectories: Iterable[Trajectory],
    model: Path,
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> list[TrainingSequence]:
    """Training sequences, in which the last one of every truncated episode extends to the next prompt of the
    policy.

    The text is encoded by the tokenizer and chat template of `model`, as an engine would read it.
    """
    renderer = ChatRenderer(load_tokenizer(model), chat_template_kwargs)
    answers = {t.id: t.turns[-1].observation for t in trajectories if t.ending.kind == "truncated"}
    last = {sequence.trajectory_id: number for number, sequence in enumerate(sequences)}
    return [
        _extended(sequence, renderer.extend(sequence.token_ids.tolist(), answers[sequence.trajectory_id]))
        if sequence.trajectory_id in answers and last[sequence.trajectory_id] == number
        else sequence
        for number, sequence in enumerate(sequences)
    ]


def _extended(sequence: TrainingSequence, read: Sequence[int]) -> TrainingSequence:
    count = len(read)
    assert sequence.turn is not None  # sequences of sampled turns have turn numbers
    return replace(
        sequence,
        token_ids=np.append(sequence.token_ids, np.asarray(read, sequence.token_ids.dtype)),
        mask=np.append(sequence.mask, np.zeros(count, np.bool_)),
        rollout_logp=np.append(sequence.rollout_logp, np.full(count, UNKNOWN, np.float32)),
        turn=np.append(sequence.turn, np.full(count, NO_TURN, np.int32)),
    )
