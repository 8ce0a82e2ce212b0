"""How the starter policy is made: demonstrations of a hand-written player, then supervised learning from
nothing.

The player sees only texts (`Environment.demonstrate`); its tasks are of the `train` split alone. Equal
recipes give equal weights on the same machine with the same number of threads.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast, LlamaConfig, LlamaForCausalLM

from agentevol.learn.batches import UNKNOWN
from agentevol.learn.config import LearnConfig
from agentevol.learn.learner import Progress, SFTLearner
from agentevol.protocols import Checkpoint, LearnReport, Message, TrainingSequence
from agentevol.rendering import ChatRenderer
from agentevol.starter.tokenizer import PAD, word_tokenizer
from agentgym_envs.core import Environment, Task
from agentgym_envs.registry import make

LEARN = LearnConfig(
    learning_rate=2e-3,
    betas=(0.9, 0.95),
    batch_tokens=8192,
    micro_batch_tokens=8192,
    threads=2,
    save_dtype="bf16",
)


@dataclass(frozen=True)
class Shape:
    """The model: a Llama of this size, with untied embeddings."""

    hidden: int = 192
    layers: int = 4
    heads: int = 6
    intermediate: int = 512
    context: int = 4096


RARE_WORDS = (
    " floorlamp teddybear papertowelroll scrubbrush towel safe cart ottoman laundryhamper dresser",
    "Nothing happens. You are not carrying anything. You are carrying: a x. Next to it, you see nothing.",
    "This is a normal cold hot clean sliced x. There's nothing special about x. You are facing the x.",
    "look inventory help examine x close x slice x with x use x. You turn on the x. You close the x.",
    "You sliced the x with the x.",
    *(f" {number}" for number in range(1, 61)),
)


@dataclass(frozen=True)
class StarterRecipe:
    """Everything that decides what the starter becomes."""

    environment: str = "alfworld"
    episodes: dict[str, int] = field(
        default_factory=lambda: {"small": 14_000, "medium": 5_000, "large": 3_000}
    )
    """Difficulty -> demonstrations."""
    first_task: int = 100_000
    """Number of the first task of each difficulty: runs explore from task 0 on, so the starter has seen none
    of theirs.
    """
    vocabulary_episodes: int = 1_500
    """Demonstrations of each difficulty whose words make the vocabulary."""
    vocabulary_texts: tuple[str, ...] = RARE_WORDS
    """Texts whose words are tokens whether or not they occur there."""
    shape: Shape = Shape()
    learn: LearnConfig = LEARN
    seed: int = 0


Lines = list[tuple[str, str]]
"""(action, observation) of every turn."""


def build(recipe: StarterRecipe, out: Path, progress: Progress | None = None) -> LearnReport:
    """Make the starter in the new folder `out`. Raises `ConfigError` where it exists."""
    world: Environment[Any] = make(recipe.environment)
    tokenizer = word_tokenizer(_vocabulary(world, recipe))
    start = out.with_name(f".{out.name}.start")
    _fresh_model(recipe, tokenizer, start)
    rows = list(demonstrations(world, recipe, ChatRenderer(tokenizer)))
    try:
        report = SFTLearner(recipe.learn, progress).learn(Checkpoint(start, -1), rows, out, recipe.seed)
    finally:
        shutil.rmtree(start, ignore_errors=True)
    (out / "recipe.json").write_text(
        json.dumps(asdict(recipe), indent=1, default=lambda value: value.model_dump())
    )
    return report


def demonstrations(
    world: Environment[Any], recipe: StarterRecipe, renderer: ChatRenderer
) -> Iterator[TrainingSequence]:
    """A row for every demonstration that was won; only the player's actions are learnt."""
    encode = _remembering(renderer)
    for difficulty, count in recipe.episodes.items():
        tasks = world.tasks("train", difficulty)
        for number in range(recipe.first_task, recipe.first_task + count):
            played = _play(world, tasks[number], recipe.seed + number)
            if played is not None:
                yield _row(tasks[number].id, *played, renderer, encode)


def _play(world: Environment[Any], task: Task, seed: int) -> tuple[str, Lines] | None:
    """First observation and turns of a demonstration; None where the player lost."""
    actions = world.demonstrate(task, seed)
    if actions is None:
        return None
    first = world.reset(task, seed).text
    return first, [(action, world.step(action).observation.text) for action in actions]


def _row(
    name: str, first: str, lines: Lines, renderer: ChatRenderer, encode: Callable[[str, bool], list[int]]
) -> TrainingSequence:
    token_ids = renderer.prompt([Message("user", first)])
    mask = [False] * len(token_ids)
    for number, (action, _) in enumerate(lines):
        if number > 0:
            heard = encode(lines[number - 1][1], False)
            token_ids += heard
            mask += [False] * len(heard)
        said = encode(action, True)
        token_ids += said
        mask += [True] * len(said)
    unknown = np.full(len(token_ids), UNKNOWN, np.float32)
    return TrainingSequence(np.asarray(token_ids, np.int32), np.asarray(mask), unknown, 1.0, name)


def _remembering(renderer: ChatRenderer) -> Callable[[str, bool], list[int]]:
    """Encode actions (True) and observations after them (False); most texts recur, so they are kept."""
    kept: dict[tuple[str, bool], list[int]] = {}

    def encode(text: str, is_action: bool) -> list[int]:
        key = (text, is_action)
        if key not in kept:
            kept[key] = renderer.action_ids(text) if is_action else renderer.extend([renderer.end_id], text)
        return kept[key]

    return encode


def _vocabulary(world: Environment[Any], recipe: StarterRecipe) -> Iterator[str]:
    yield from recipe.vocabulary_texts
    for difficulty in recipe.episodes:
        tasks = world.tasks("train", difficulty)
        for number in range(recipe.vocabulary_episodes):
            played = _play(world, tasks[number], number)
            if played is not None:
                yield played[0]
                yield from (text for line in played[1] for text in line)


def _fresh_model(recipe: StarterRecipe, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    shape = recipe.shape
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        intermediate_size=shape.intermediate,
        max_position_embeddings=shape.context,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.convert_tokens_to_ids(PAD),
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
