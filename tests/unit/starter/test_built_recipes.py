"""Recipes of starters that users build."""

import json
from pathlib import Path

import pytest

from agentevol.core.errors import ConfigError
from agentevol.models.rendering import load_tokenizer
from agentevol.models.tokenizer_checks import check_words, unknown_share
from agentevol.models.word_tokenizer import word_tokenizer
from agentevol.runs.starter.build import build, sequences
from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.demonstrations import Demonstrator
from agentevol.runs.starter.general_recipe import recipe_for
from agentevol.runs.starter.many_recipe import MANY_RECIPE
from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe, scaled
from agentevol.runs.starter.shipped_recipes import RECIPES


def test_a_recipe_of_the_package_without_weights_is_found_by_its_environment():
    assert recipe_for("questions") is BUILT_RECIPES["questions"]
    assert recipe_for("many") is MANY_RECIPE
    assert not BUILT_RECIPES.keys() & RECIPES.keys()  # the package has weights for each of those


def test_one_starter_learns_several_environments_with_the_words_of_each(tmp_path: Path):
    parts = (
        StarterRecipe("guess", {"": 3}, care=0.5, vocabulary_episodes=2, vocabulary_texts=("0123456789",)),
        StarterRecipe("wordle", {"": 2}, 0.0, vocabulary_most=0, spelled=True, vocabulary_texts=(" b g",)),
    )
    shape, learn = Shape(hidden=32, layers=2, heads=2, intermediate=32, context=256), LEARN
    recipe = StarterRecipe("many", {}, care=0.0, folded=True, shape=shape, learn=learn, parts=parts)
    report = build(recipe, tmp_path / "many")
    assert report.metrics["sequences"] == 5
    tokenizer = load_tokenizer(tmp_path / "many")
    assert tokenizer.tokenize("go lower than") == ["go", "Ġlower", "Ġthan"]
    assert tokenizer.tokenize("crane b") == [*"crane", "Ġb"]  # a guess is spelled
    check_words("many", tokenizer, ["crane", "slate"], "wordle")
    with pytest.raises(ConfigError, match="base many does not fit textcraft"):
        check_words("many", tokenizer, ["craft 1 rowan table"], "textcraft")
    learnt = [json.loads(line) for line in (tmp_path / "many" / "sequences.jsonl").read_text().splitlines()]
    again = [(one.trajectory_id, int(one.mask.sum())) for one in sequences(recipe, tokenizer)]
    assert again == [(one["episode"], one["tokens"]) for one in learnt]
    card = (tmp_path / "many" / "README.md").read_text()
    assert "agentevol eval --env guess --model FOLDER` and `agentevol eval --env wordle" in card
    smaller = scaled(MANY_RECIPE, 0.5)
    assert [sum(part.demonstrations.values()) for part in smaller.parts] == [
        sum(part.demonstrations.values()) // 2 for part in MANY_RECIPE.parts
    ]


def test_the_questions_starter_reads_numbers_digit_by_digit():
    play = Demonstrator(BUILT_RECIPES["questions"])
    shown = play("2", 3)
    play.close()
    texts = [turn.said for turn in shown.turns]
    tokenizer = word_tokenizer(texts, tagged=BUILT_RECIPES["questions"].tagged)
    numbers = [token.strip("Ġ") for text in texts for token in tokenizer.tokenize(text)]
    assert {len(number) for number in numbers if number.isdigit()} == {1}
    assert unknown_share(tokenizer, texts) == 0.0  # a base that runs accept
    whole = word_tokenizer(texts, digits=1)
    assert unknown_share(whole, texts) > 0.1
