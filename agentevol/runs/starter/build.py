"""Construction of a starter policy: vocabulary, first weights, supervised learning, card."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, TrainingSequence
from agentevol.learn.learner import GradientLearner, Progress
from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import END, PAD, frequent_words, tokenizer_of
from agentevol.runs.starter.card import write_card
from agentevol.runs.starter.demonstrations import Demonstration, Demonstrator, demonstrations
from agentevol.runs.starter.initial_weights import lay_out, twins
from agentevol.runs.starter.recipe import StarterRecipe
from agentevol.runs.starter.renaming import Renamer, names_in, unread


def build(recipe: StarterRecipe, out: Path, progress: Progress | None = None) -> LearnReport:
    """Build the starter in the new folder `out`. Raises `ConfigError` where it exists."""
    if out.exists():
        raise ConfigError(f"{out} exists; name a new folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with _parts_of(recipe) as parts:
        words = set[str]().union(*(part.words for part in parts))
        spelled = [part.environment for part in recipe.by_environment if part.spelled]
        tokenizer = tokenizer_of(words, folded=recipe.folded, tagged=recipe.tagged, spelled=spelled)
        learnt = [one for part in parts for one in _sequences(part, recipe, tokenizer)]
    start = out.with_name(f".{out.name}.start")
    _fresh_model(recipe, tokenizer, start)
    try:
        report = GradientLearner(recipe.learn, progress).learn(
            LearnerJob(Checkpoint(start, -1), learnt, out, recipe.seed)
        )
    finally:
        shutil.rmtree(start, ignore_errors=True)
    write_card(out, recipe, report, [part.play.data_version for part in parts])
    (out / "recipe.json").write_text(
        json.dumps(asdict(recipe), indent=1, default=lambda value: value.model_dump())
    )
    return report


def sequences(recipe: StarterRecipe, tokenizer: PreTrainedTokenizerBase) -> list[TrainingSequence]:
    """Training sequences of all demonstrations of a recipe, in the tokens of a starter that it built."""
    with _parts_of(recipe) as parts:
        return [one for part in parts for one in _sequences(part, recipe, tokenizer)]


class _Part(NamedTuple):
    """Recipe of one environment, with its player, its words of the vocabulary, and names to replace."""

    recipe: StarterRecipe
    play: Demonstrator
    words: set[str]
    names: set[str]

    @classmethod
    def of(cls, part: StarterRecipe, whole: StarterRecipe) -> "_Part":
        """The part of a recipe, which splits texts as the whole does."""
        play = Demonstrator(part)
        shown = _vocabulary_episodes(play, part)
        texts = _texts(play, part, shown)
        split = {"folded": whole.folded, "digits": whole.digits, "tagged": whole.tagged}
        words = frequent_words(chain(*texts.values()), part.vocabulary_most, **split)
        words |= frequent_words((*part.vocabulary_texts, play.instruction or ""), **split)
        return cls(part, play, words, _names(part, texts, shown) if part.renamed else set())


@contextmanager
def _parts_of(recipe: StarterRecipe) -> Iterator[list[_Part]]:
    """The parts of a recipe; their environments are closed in the end."""
    parts = list[_Part]()
    try:
        for part in recipe.by_environment:
            parts.append(_Part.of(part, recipe))
        yield parts
    finally:
        for part in parts:
            part.play.close()


def _sequences(
    part: _Part, whole: StarterRecipe, tokenizer: PreTrainedTokenizerBase
) -> Iterator[TrainingSequence]:
    """Training sequences of one environment; where there are several, with its name before their ids."""
    renamer = Renamer(part.names, tokenizer.get_vocab()) if part.recipe.renamed else None
    for one in demonstrations(part.play, part.recipe, ChatRenderer(tokenizer), renamer):
        name = f"{part.recipe.environment}/{one.trajectory_id}" if whole.parts else one.trajectory_id
        yield replace(one, trajectory_id=name)


def _vocabulary_episodes(play: Demonstrator, recipe: StarterRecipe) -> list[Demonstration]:
    """Demonstrations whose words form the vocabulary."""
    numbers = range(recipe.vocabulary_episodes)
    return [play(difficulty, number) for difficulty in recipe.demonstrations for number in numbers]


def _texts(play: Demonstrator, recipe: StarterRecipe, shown: Sequence[Demonstration]) -> dict[str, set[str]]:
    """Texts whose words form the vocabulary, by split."""
    own = {text for one in shown for text in chain([one.last], *one.turns)}
    others = {split: set(play.heard(split, recipe.vocabulary_episodes)) for split in recipe.vocabulary_splits}
    return {recipe.split: own, **others}


def _names(recipe: StarterRecipe, texts: Mapping[str, set[str]], shown: Sequence[Demonstration]) -> set[str]:
    """Words that renaming replaces."""
    if not recipe.renames_nouns:
        return names_in(texts.values())
    return names_in(texts.values(), any_case=True) - unread(one.turns for one in shown)


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
            lay_out(model, twins(tokenizer.get_vocab()) if shape.twins else ())
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
