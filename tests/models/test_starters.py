"""Each starter policy of the package is what its recipe says, loads, and reads and writes any text."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest
from transformers import AutoConfig, AutoTokenizer

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError
from agentevol.core.starter_names import MODE_STARTERS, MODES
from agentevol.models.resolution import resolve, shipped_starters, starter_folder
from agentevol.runs.starter.mode_recipes import MODE_RECIPES
from agentevol.runs.starter.shipped_recipes import RECIPES

SHIPPED = {**RECIPES, **{f"{name}{MODES}": recipe for name, recipe in MODE_RECIPES.items()}}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_recipe_beside_the_weights_is_that_of_the_code(name: str):
    written = json.loads((starter_folder(name) / "recipe.json").read_text(encoding="utf-8"))
    recipe = asdict(replace(SHIPPED[name], learn=LearnConfig()))  # whose fields have changed since
    now: dict[str, Any] = json.loads(json.dumps(recipe, default=str))
    assert written.pop("shape").items() <= now.pop("shape").items()
    del written["learn"]
    assert {key: now[key] for key in written} == written


@pytest.mark.parametrize("name", SHIPPED)
def test_a_starter_is_found_by_name_and_has_the_shape_of_its_recipe(name: str):
    folder, shape = resolve(f"starter:{name}").path, SHIPPED[name].shape
    config = AutoConfig.from_pretrained(folder)
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (
        shape.hidden,
        shape.layers,
        shape.heads,
    )
    assert config.rope_parameters["rope_theta"] == shape.rotary_base
    assert (folder / "README.md").is_file()
    assert (folder / "model.safetensors").stat().st_size < 6e6  # it travels in the wheel


def test_all_starters_together_are_small_enough_for_a_wheel():
    folders = [starter_folder(name) for name in SHIPPED]
    assert sum(file.stat().st_size for folder in folders for file in folder.iterdir()) < 24e6


@pytest.mark.parametrize("name", SHIPPED)
def test_any_text_is_read_and_written(name: str):
    tokenizer = AutoTokenizer.from_pretrained(starter_folder(name))
    text = "click[b087480765] naïve 漢字 🙂 3.5 oz [sep] go to cabinet 12"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_runs_look_for_the_starters_in_modes_that_have_recipes():
    assert tuple(MODE_RECIPES) == MODE_STARTERS


def test_every_recipe_has_its_starter():
    assert sorted(SHIPPED) == shipped_starters()


def test_a_starter_that_is_not_there_is_said():
    ways = ".*agentevol starter build --env sotopia.*base=FOLDER.*base=OWNER/NAME of the Hugging Face hub"
    with pytest.raises(ConfigError, match=f"no starter policy for 'sotopia': {ways}"):
        resolve("starter:sotopia")
    with pytest.raises(ConfigError, match="build --env sotopia --format modes`"):
        resolve("starter:sotopia-modes")
