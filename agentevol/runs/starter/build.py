"""Construction of a starter policy: vocabulary, first weights, supervised learning, card."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport
from agentevol.learn.learner import GradientLearner, Progress
from agentevol.models.rendering import ChatRenderer
from agentevol.models.word_tokenizer import END, PAD, word_tokenizer
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
    play = Demonstrator(recipe)
    shown = _vocabulary_episodes(play, recipe)
    texts = _texts(play, recipe, shown)
    tokenizer = word_tokenizer(
        chain(*texts.values()),
        folded=recipe.folded,
        most=recipe.vocabulary_most,
        always=(*recipe.vocabulary_texts, play.instruction or ""),
        digits=recipe.digits,
    )
    renamer = Renamer(_names(recipe, texts, shown), tokenizer.get_vocab()) if recipe.renamed else None
    start = out.with_name(f".{out.name}.start")
    _fresh_model(recipe, tokenizer, start)
    sequences = list(demonstrations(play, recipe, ChatRenderer(tokenizer), renamer))
    try:
        report = GradientLearner(recipe.learn, progress).learn(
            LearnerJob(Checkpoint(start, -1), sequences, out, recipe.seed)
        )
    finally:
        shutil.rmtree(start, ignore_errors=True)
        play.close()
    write_card(out, recipe, report, play.data_version)
    (out / "recipe.json").write_text(
        json.dumps(asdict(recipe), indent=1, default=lambda value: value.model_dump())
    )
    return report


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
