"""Recipe of a starter policy: demonstrations of a careless player, then supervised learning from nothing.

The player sees only texts and forgets most of what a task asks for (`Environment.demonstrate`), so that the
starter knows how to act, and has still to find out what pays. What it thinks where it is careful, and whether
it takes what it has just read of, may be drilled besides (`agentevol.starter.rows`): what, not that it does.
Its tasks are of the `train` split alone. Equal recipes give equal weights on the same machine with the same
number of threads.
"""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agentevol.learn.config import LearnConfig
from agentevol.learn.learner import GradientLearner, Progress
from agentevol.protocols import Checkpoint, LearnReport, TrainingSequence
from agentevol.rendering import ChatRenderer
from agentevol.starter.copying import lay_out
from agentevol.starter.rows import RowMaker, Turn
from agentevol.starter.tokenizer import END, PAD, word_tokenizer
from agentgym_envs.core import Environment, Task
from agentgym_envs.episodes import Player, follow
from agentgym_envs.formats import after_thinking
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


CAREFUL = 0.95
"""Care of the demonstrations that `StarterRecipe.careful` is a share of."""
OPENINGS = 3
"""Times that the first turn of an excerpt is shown, each in other words."""
SHORT = 256
"""Tokens of a drill, at most."""


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
    careful: float = 0.0
    """Share of the demonstrations whose player has care `CAREFUL` in place of it."""
    studies: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which, where they are won, thoughts are learnt and what
    comes after the last one.
    """
    excerpts: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which only single turns are shown: the first one in
    other words, and thoughts about what is read for the first time.
    """
    drills: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, with care 1, of which only thoughts about short pages are shown, and
    how they end where they are won.
    """
    finds: Mapping[str, int] = field(default_factory=dict[str, int])
    """Difficulty -> further episodes, of which only two turns are shown: one that takes what was just read
    of, and one that leaves it.
    """
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


class Demonstration(NamedTuple):
    """An episode that was shown."""

    task_id: str
    turns: Sequence[Turn]
    last: str
    """What was heard after the last message."""
    is_won: bool
    """Whether it earned all that can be earned."""


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
    """The player in its worlds."""

    def __init__(self, recipe: StarterRecipe) -> None:
        self._worlds: list[Environment[Any]] = [
            make(recipe.environment, **options) for options in recipe.worlds
        ]
        if recipe.max_turns is not None:
            for world in self._worlds:
                world.max_turns = recipe.max_turns  # pyright: ignore[reportAttributeAccessIssue]
        self._player = Player()
        self._recipe = recipe

    def __call__(self, difficulty: str, number: int, care: float | None = None) -> Demonstration:
        """Won or lost; with the recipe's care, unless `care` says how much."""
        recipe = self._recipe
        round_, which = divmod(number, len(self._worlds))
        world = self._worlds[which]
        tasks = world.tasks("train", difficulty)
        task: Task = tasks[round_ % len(tasks)]
        seed = recipe.seed + number
        if care is None:
            care = CAREFUL if Random(seed).random() < recipe.careful else recipe.care
        messages = world.demonstrate(task, seed, care)
        acts = follow([after_thinking(message) for message in messages])
        episode = self._player.play(world, task, acts, seed=recipe.seed)
        heard = [episode.first, *(result.observation for result in episode.results)]
        turns = [Turn(one.text, said) for one, said in zip(heard, messages, strict=False)]
        is_won = episode.total_reward >= world.reward_range[1]
        return Demonstration(task.id, turns, heard[-1].text, is_won)

    def close(self) -> None:
        """End the world."""
        self._player.close()
        for world in self._worlds:
            world.close()


def demonstrations(
    play: Demonstrator, recipe: StarterRecipe, renderer: ChatRenderer
) -> Iterator[TrainingSequence]:
    """A row for every demonstration and study, and those of excerpts and drills."""
    rows = RowMaker(renderer)
    draw = Random(recipe.seed)
    for one in _shown(play, recipe.demonstrations, recipe.first_task):
        yield rows.whole(one.task_id, one.turns)
    first = recipe.first_task + sum(recipe.demonstrations.values())
    for one in _shown(play, recipe.studies, first, 1.0):
        if one.is_won:
            yield rows.studied(one.task_id, one.turns)
    first += sum(recipe.studies.values())
    for one in _shown(play, recipe.excerpts, first, 1.0):
        yield from rows.openings(one.task_id, one.turns, OPENINGS, draw)
        yield from rows.thoughts(one.task_id, one.turns)
    first += sum(recipe.excerpts.values())
    for one in _shown(play, recipe.drills, first, 1.0):
        yield from rows.thoughts(one.task_id, one.turns, SHORT)
        if one.is_won:
            yield from rows.ending(one.task_id, one.turns)
    first += sum(recipe.drills.values())
    for one in _shown(play, recipe.finds, first):
        yield from rows.finds(one.task_id, one.turns, draw)


def _shown(
    play: Demonstrator, counts: Mapping[str, int], first: int, care: float | None = None
) -> Iterator[Demonstration]:
    """Of each difficulty as many as `counts` says, from the one that is number `first`."""
    for difficulty, count in counts.items():
        for number in range(first, first + count):
            yield play(difficulty, number, care)


def _vocabulary(play: Demonstrator, recipe: StarterRecipe) -> Iterator[str]:
    yield from recipe.vocabulary_texts
    for difficulty in recipe.demonstrations:
        for number in range(recipe.vocabulary_episodes):
            shown = play(difficulty, number)
            yield shown.last
            for turn in shown.turns:
                yield from turn


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
