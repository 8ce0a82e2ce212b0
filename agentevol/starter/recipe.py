"""How the starter policy is made: demonstrations of a careless player, then supervised learning from nothing.

The player sees only texts and forgets most of what a task asks for (`Environment.demonstrate`), so that the
starter knows how to act, and has still to find out what pays. Its tasks are of the `train` split alone.
Equal recipes give equal weights on the same machine with the same number of threads.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agentevol.learn.batches import UNKNOWN
from agentevol.learn.config import LearnConfig
from agentevol.learn.learner import GradientLearner, Progress
from agentevol.protocols import Checkpoint, LearnReport, Message, TrainingSequence
from agentevol.rendering import ChatRenderer
from agentevol.starter.copying import lay_out
from agentevol.starter.tokenizer import END, PAD, word_tokenizer
from agentgym_envs.core import Environment, Task
from agentgym_envs.episodes import Episode, Player, follow
from agentgym_envs.registry import make

LEARN = LearnConfig(
    optimiser="muon",
    learning_rate=2e-3,
    betas=(0.9, 0.95),
    batch_tokens=2048,
    micro_batch_tokens=4096,
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
    rotary_base: float = 10_000.0
    """The larger it is, the farther away a token is found by what it is."""
    copies: bool = False
    """Whether the first weights can copy (`agentevol.starter.copying`)."""


@dataclass(frozen=True)
class StarterRecipe:
    """Everything that decides what the starter becomes."""

    environment: str
    demonstrations: dict[str, int]
    """Difficulty -> episodes."""
    care: float
    """Probability with which the player thinks of each part of a task."""
    worlds: tuple[Mapping[str, Any], ...] = ({},)
    """The environment's options. Where there are several, demonstrations come from each in turn."""
    first_task: int = 0
    """Number of the first task of each difficulty. Where the split is short its tasks come again, played
    otherwise.
    """
    max_turns: int | None = None
    """Actions of the player, at most; None is the environment's own limit."""
    vocabulary_episodes: int = 1_500
    """Episodes of each difficulty whose words make the vocabulary."""
    vocabulary_texts: tuple[str, ...] = ()
    """Texts whose words are tokens whether or not they occur there."""
    folded: bool = False
    """Whether the tokenizer reads all text in lower case."""
    shape: Shape = Shape()
    learn: LearnConfig = LEARN
    seed: int = 0


def build(recipe: StarterRecipe, out: Path, progress: Progress | None = None) -> LearnReport:
    """Make the starter in the new folder `out`. Raises `ConfigError` where it exists."""
    play = Demonstrator(recipe)
    tokenizer = word_tokenizer(_vocabulary(play, recipe), folded=recipe.folded)
    start = out.with_name(f".{out.name}.start")
    _fresh_model(recipe, tokenizer, start)
    rows = list(demonstrations(play, recipe, ChatRenderer(tokenizer)))
    try:
        report = GradientLearner(recipe.learn, progress).learn(Checkpoint(start, -1), rows, out, recipe.seed)
    finally:
        shutil.rmtree(start, ignore_errors=True)
        play.close()
    (out / "recipe.json").write_text(
        json.dumps(asdict(recipe), indent=1, default=lambda value: value.model_dump())
    )
    return report


class Demonstrator:
    """The careless player in its worlds."""

    def __init__(self, recipe: StarterRecipe) -> None:
        self._worlds: list[Environment[Any]] = [
            make(recipe.environment, **options) for options in recipe.worlds
        ]
        if recipe.max_turns is not None:
            for world in self._worlds:
                world.max_turns = recipe.max_turns  # pyright: ignore[reportAttributeAccessIssue]
        self._player = Player()
        self._recipe = recipe

    def __call__(self, difficulty: str, number: int) -> tuple[str, Episode]:
        """Task id and episode, won or lost."""
        round_, which = divmod(number, len(self._worlds))
        world = self._worlds[which]
        tasks = world.tasks("train", difficulty)
        task: Task = tasks[round_ % len(tasks)]
        actions = world.demonstrate(task, self._recipe.seed + number, self._recipe.care)
        return task.id, self._player.play(world, task, follow(actions), seed=self._recipe.seed)

    def close(self) -> None:
        """End the world."""
        self._player.close()
        for world in self._worlds:
            world.close()


def demonstrations(
    play: Demonstrator, recipe: StarterRecipe, renderer: ChatRenderer
) -> Iterator[TrainingSequence]:
    """A row for every demonstration; only the player's actions are learnt."""
    encode = _remembering(renderer)
    for difficulty, count in recipe.demonstrations.items():
        for number in range(recipe.first_task, recipe.first_task + count):
            yield _row(*play(difficulty, number), renderer, encode)


def _row(
    name: str, episode: Episode, renderer: ChatRenderer, encode: Callable[[str, bool], list[int]]
) -> TrainingSequence:
    token_ids = renderer.prompt([Message("user", episode.first.text)])
    mask = [False] * len(token_ids)
    for number, action in enumerate(episode.actions):
        if number > 0:
            heard = encode(episode.results[number - 1].observation.text, False)
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


def _vocabulary(play: Demonstrator, recipe: StarterRecipe) -> Iterator[str]:
    yield from recipe.vocabulary_texts
    for difficulty in recipe.demonstrations:
        for number in range(recipe.vocabulary_episodes):
            _, episode = play(difficulty, number)
            yield episode.first.text
            yield from episode.actions
            yield from (result.observation.text for result in episode.results)


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
        rope_parameters={"rope_theta": shape.rotary_base, "rope_type": "default"},
        tie_word_embeddings=False,
        eos_token_id=tokenizer.get_vocab()[END],
        pad_token_id=tokenizer.get_vocab()[PAD],
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        model = LlamaForCausalLM(config)
        if shape.copies:
            lay_out(model)
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
