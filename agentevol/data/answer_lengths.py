"""Lengths of the answers within replies, for rewards that count them.

A reply in AMPO's format has thoughts and an answer (`agentgym_envs.thinking`); any other is all answer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from agentevol.core.protocols import TrainingSequence
from agentevol.models.rendering import load_tokenizer
from agentgym_envs.thinking import check
from agentgym_store.records import Trajectory


def with_answers(
    sequences: Iterable[TrainingSequence], trajectories: Sequence[Trajectory], model: Path
) -> list[TrainingSequence]:
    """Training sequences with `EpisodeFacts.answer_tokens`, counted by the model's tokenizer."""
    tokenizer = load_tokenizer(model)

    def tokens(text: str) -> int:
        answer = check(text).answer
        return len(tokenizer.encode(answer, add_special_tokens=False)) if answer else 0

    counted = {
        trajectory.id: tuple(tokens(turn.sample.text if turn.sample else "") for turn in trajectory.turns)
        for trajectory in trajectories
    }
    return [
        replace(
            sequence,
            episode=sequence.episode
            and replace(sequence.episode, answer_tokens=counted[sequence.trajectory_id]),
        )
        for sequence in sequences
    ]
