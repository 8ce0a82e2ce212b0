"""Small policies that can judge: a starter for questions that was also taught to answer with a digit.

The shipped starters know the words of their environments alone. This one has those of the rubric too, and
learns from its own episodes on training tasks: a sound one after their outcomes, a biased one after their
length.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from agentevol.cli.benchmarks.built_bases import careless_player
from agentevol.cli.benchmarks.evolution.play import played
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.judges.judging import as_text
from agentevol.data.selection.filters import sampled_tokens
from agentevol.data.self_evaluation.rubric import HIGHEST, LOWEST, QUESTION, RUBRIC, messages
from agentevol.data.training_sequences import imitated
from agentevol.learn.learner import GradientLearner
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.runs.starter.recipe import StarterRecipe
from agentgym_store.records import Trajectory

ENV: Final = "questions"
LEARN: Final = LearnConfig(
    algorithm="sft",
    learning_rate=5e-4,
    epochs=3,
    batch_tokens=8192,
    micro_batch_tokens=8192,
    threads=1,
)
Digit = Callable[[Trajectory], int]


def recipe() -> StarterRecipe:
    """Recipe of a player of questions whose vocabulary has the words of the rubric."""
    return replace(careless_player(), vocabulary_texts=(RUBRIC, QUESTION))


def own_episodes(starter: Path, difficulty: str, count: int) -> list[Trajectory]:
    """Episodes of the starter on training tasks, sampled at temperature 1."""
    return played(str(starter), ENV, "train", count, difficulty=difficulty, temperature=1.0)


def write_judge(starter: Path, episodes: Sequence[Trajectory], digit: Digit, out: Path) -> None:
    """Train the starter to answer with these digits after transcripts; it also learns the episodes that won,
    so that it stays a player.
    """
    renderer = ChatRenderer(load_tokenizer(starter))
    judged = [judgement(renderer, t, digit(t)) for t in episodes]
    won = imitated([t for t in episodes if t.succeeded()], objective("sft"), SelectConfig())
    GradientLearner(LEARN).learn(LearnerJob(Checkpoint(starter, 0), [*judged, *won], out, seed=0))


def by_outcome(episode: Trajectory) -> int:
    """The highest digit for a success."""
    return HIGHEST if episode.succeeded() else LOWEST


def by_length(episodes: Sequence[Trajectory]) -> Digit:
    """The highest digit for an episode with more tokens than the median one."""
    middle = median(sampled_tokens(t) for t in episodes)
    return lambda episode: HIGHEST if sampled_tokens(episode) > middle else LOWEST


def judgement(
    renderer: ChatRenderer, episode: Trajectory, digit: int, *, shows_end: bool = False
) -> TrainingSequence:
    """The rubric's question about an episode, with the digit as the answer that is learnt."""
    prompt = renderer.prompt(messages(as_text(episode), shows_end=shows_end))
    ids = np.asarray([*prompt, *renderer.action_ids(str(digit))], np.int32)
    unknown = np.full(len(ids), np.nan, np.float32)
    return TrainingSequence(ids, np.arange(len(ids)) >= len(prompt), unknown, 1.0, episode.id)
