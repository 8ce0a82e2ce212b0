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
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agentevol.learn.batches import UNKNOWN
from agentevol.learn.config import LearnConfig
from agentevol.learn.learner import Progress, SFTLearner
from agentevol.protocols import Checkpoint, LearnReport, Message, TrainingSequence
from agentevol.rendering import ChatRenderer
from agentevol.starter.tokenizer import END, PAD, word_tokenizer
from agentgym_envs.core import Environment, Task
from agentgym_envs.episodes import Episode, Player, follow
from agentgym_envs.registry import make

WALKTHROUGHS = {"small": 3_000, "medium": 1_500, "large": 1_000}
SEARCHES = {"small": 7_000, "medium": 4_000, "large": 2_500}
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
    walkthroughs: dict[str, int] = field(default_factory=lambda: dict(WALKTHROUGHS))
    """Difficulty -> episodes of the expert, who knows where everything is and goes straight there."""
    searches: dict[str, int] = field(default_factory=lambda: dict(SEARCHES))
    """Difficulty -> episodes of the player who sees only texts, and so shows how to look for things."""
    first_task: int = 100_000
    """Number of the first task of each difficulty: runs explore from task 0 on, so that the starter has seen
    none of theirs.
    """
    vocabulary_episodes: int = 1_500
    """Episodes of each difficulty whose words make the vocabulary."""
    vocabulary_texts: tuple[str, ...] = RARE_WORDS
    """Texts whose words are tokens whether or not they occur there."""
    shape: Shape = Shape()
    learn: LearnConfig = LEARN
    seed: int = 0


def build(recipe: StarterRecipe, out: Path, progress: Progress | None = None) -> LearnReport:
    """Make the starter in the new folder `out`. Raises `ConfigError` where it exists."""
    players = Players(recipe)
    tokenizer = word_tokenizer(_vocabulary(players, recipe))
    start = out.with_name(f".{out.name}.start")
    _fresh_model(recipe, tokenizer, start)
    rows = list(demonstrations(players, recipe, ChatRenderer(tokenizer)))
    try:
        report = SFTLearner(recipe.learn, progress).learn(Checkpoint(start, -1), rows, out, recipe.seed)
    finally:
        shutil.rmtree(start, ignore_errors=True)
        players.close()
    (out / "recipe.json").write_text(
        json.dumps(asdict(recipe), indent=1, default=lambda value: value.model_dump())
    )
    return report


class Players:
    """The two demonstrators in one world."""

    def __init__(self, recipe: StarterRecipe) -> None:
        self._world: Environment[Any] = make(recipe.environment)
        self._player = Player()
        self._seed = recipe.seed

    def walkthrough(self, difficulty: str, number: int) -> tuple[str, Episode] | None:
        """Task id and episode of the expert."""
        task = self._task(difficulty, number)
        return self._played(task, self._world.expert(task))

    def search(self, difficulty: str, number: int) -> tuple[str, Episode] | None:
        """Task id and episode of the player who sees only texts; None where it lost."""
        task = self._task(difficulty, number)
        return self._played(task, self._world.demonstrate(task, self._seed + number))

    def close(self) -> None:
        """End the world."""
        self._player.close()
        self._world.close()

    def _task(self, difficulty: str, number: int) -> Task:
        return self._world.tasks("train", difficulty)[number]

    def _played(self, task: Task, actions: list[str] | None) -> tuple[str, Episode] | None:
        if actions is None:
            return None
        return task.id, self._player.play(self._world, task, follow(actions), seed=self._seed)


def demonstrations(
    players: Players, recipe: StarterRecipe, renderer: ChatRenderer
) -> Iterator[TrainingSequence]:
    """A row for every demonstration; only the player's actions are learnt. No task is shown twice."""
    encode = _remembering(renderer)
    first = dict.fromkeys((*recipe.walkthroughs, *recipe.searches), recipe.first_task)
    for play, counts in ((players.walkthrough, recipe.walkthroughs), (players.search, recipe.searches)):
        for difficulty, count in counts.items():
            numbers = range(first[difficulty], first[difficulty] + count)
            first[difficulty] += count
            played = (play(difficulty, number) for number in numbers)
            yield from (_row(*one, renderer, encode) for one in played if one is not None)


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


def _vocabulary(players: Players, recipe: StarterRecipe) -> Iterator[str]:
    yield from recipe.vocabulary_texts
    for difficulty in {**recipe.walkthroughs, **recipe.searches}:
        for number in range(recipe.vocabulary_episodes):
            played = players.walkthrough(difficulty, number)
            if played is not None:
                yield played[1].first.text
                yield from played[1].actions
                yield from (result.observation.text for result in played[1].results)


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
        eos_token_id=tokenizer.get_vocab()[END],
        pad_token_id=tokenizer.get_vocab()[PAD],
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
