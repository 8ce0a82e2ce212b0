"""Tiny models that were trained to answer with a digit after the transcript of an episode."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from support.runs import episode_request, requested
from transformers import LlamaConfig, LlamaForCausalLM

from agentevol.cli.benchmarks.evolution.judging_policies import judgement
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, LearnerJob
from agentevol.data.judges.judging import as_text
from agentevol.data.self_evaluation.rubric import messages
from agentevol.learn.learner import GradientLearner
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.word_tokenizer import END, PAD, word_tokenizer
from agentgym_store.records import Sample, Trajectory, Turn

Digit = Callable[[Trajectory], int]


def guess_episode(number: int, guess: int, observation: str = "Right.", **fields: object) -> Trajectory:
    """One turn of the guess environment."""
    sample = Sample(
        text=str(guess), prompt_ids=(1,), token_ids=(2 + guess,), logprobs=(-1.0,), policy_version=0
    )
    turn = Turn(action=str(guess), observation=observation, reward=0.0, sample=sample)
    request = episode_request(id=f"judged/{number}", task_id=f"task-{number}")
    return requested(request, turns=(turn,), **fields)


def write_judge(folder: Path, episodes: Sequence[Trajectory], digit: Digit, *, shows_end: bool) -> Checkpoint:
    """Write a random model of one layer and clone it to answer with these digits after transcripts of the
    episodes.
    """
    start = _random(folder.with_name(f"{folder.name}-random"), episodes)
    renderer = ChatRenderer(load_tokenizer(start.path))
    sequences = [judgement(renderer, t, digit(t), shows_end=shows_end) for t in episodes]
    how = LearnConfig(
        algorithm="sft",
        learning_rate=3e-3,
        epochs=30,
        batch_tokens=2048,
        micro_batch_tokens=4096,
        threads=1,
        schedule="constant",
    )
    GradientLearner(how).learn(LearnerJob(start, sequences, folder, seed=0))
    return Checkpoint(folder, 0)


def _random(folder: Path, episodes: Sequence[Trajectory]) -> Checkpoint:
    texts = [messages(as_text(t), shows_end=True)[0].content for t in episodes]
    tokenizer = word_tokenizer([*texts, *map(str, range(10))])
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        eos_token_id=tokenizer.get_vocab()[END],
        pad_token_id=tokenizer.get_vocab()[PAD],
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Checkpoint(folder, 0)
