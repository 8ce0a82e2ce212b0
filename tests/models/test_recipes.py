"""The recipes' commands are configurations that load, and say what docs/recipes.md says of them."""

import shlex
from pathlib import Path

import pytest

from agentevol.config.checks import objective
from agentevol.config.run import RunConfig, load

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
COMMANDS = [line.strip() for line in PAGE.read_text().splitlines() if line.startswith("    agentevol run ")]
LONG = {"--iters": "iterations", "--data": "environment.data"}


def configuration(command: str) -> RunConfig:
    words = iter(shlex.split(command)[2:])
    presets, settings = list[str](), list[str]()
    for word in words:
        if word == "--preset":
            presets.append(next(words))
        else:
            settings.append(f"{LONG[word]}={next(words)}" if word in LONG else word)
    return load(None, settings, preset=presets)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_recipe_loads(command: str):
    config = configuration(command)
    assert (config.engine.name, config.engine.workers, config.learn.shards) == ("vllm", 4, 4)
    assert config.base.startswith("Qwen/Qwen2.5-") or config.base == "cloned"  # a folder of the user's
    # far below the rates of small policies, which are the defaults
    rates = {"agentevol": 1e-5, "gigpo": 1e-6, "ampo": 3e-7}
    assert config.learn.learning_rate == rates[config.learn.algorithm]


def test_there_are_recipes():
    assert len(COMMANDS) == 5


def test_the_recipe_of_a_dialogue_has_the_papers_numbers():
    (command,) = [one for one in COMMANDS if "--preset aml " in one]
    config = configuration(command)
    assert (config.iterations, config.explore.tasks, config.explore.samples) == (800, 16, 16)
    assert (config.explore.max_new_tokens, config.engine.context, config.learn.reference) == (
        2048,
        8192,
        "base",
    )
    assert objective(config.learn.algorithm, config.learn.options).options["kl_coef"] == 0.001
    assert (config.explore.difficulty, config.evaluate.difficulty) == (None, None)
