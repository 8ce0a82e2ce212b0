"""Lengths of the answers within replies, for rewards that count them.

A reply in AMPO's format has thoughts and an answer (`agentgym_envs.thinking`); any other is all answer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentevol.core.protocols import TrainingSequence
from agentevol.models.rendering import load_tokenizer
from agentgym_envs.thinking import parts
from agentgym_store.records import Trajectory, Turn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

THINKING_TOKENS, ANSWER_TOKENS = "thinking_tokens", "answer_tokens"
"""Members of a turn's `info`: tokens of the thought and of the answer, by the policy's tokenizer."""


def with_answers(
    sequences: Iterable[TrainingSequence], trajectories: Sequence[Trajectory], model: Path
) -> list[TrainingSequence]:
    """Training sequences with `EpisodeFacts.answer_tokens`, counted by the model's tokenizer."""
    tokenizer = load_tokenizer(model)

    def tokens(turn: Turn) -> int:
        """The recorded number, or else that of the text."""
        recorded = turn.info.get(ANSWER_TOKENS)
        if isinstance(recorded, int):
            return recorded
        divided = parts(turn.sample.text) if turn.sample else None
        return token_count(tokenizer, divided[1]) if divided else 0

    counted = {trajectory.id: tuple(map(tokens, trajectory.turns)) for trajectory in trajectories}
    return [
        replace(
            sequence,
            episode=sequence.episode
            and replace(sequence.episode, answer_tokens=counted[sequence.trajectory_id]),
        )
        for sequence in sequences
    ]


def token_count(tokenizer: "PreTrainedTokenizerBase", text: str) -> int:
    """Number of tokens of a text by itself."""
    return len(tokenizer.encode(text, add_special_tokens=False)) if text else 0
