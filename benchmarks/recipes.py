"""Length of an episode, and the GPU-hours of the recipes in docs/recipes.md that follow from it.

    python -m benchmarks recipes --sotopia real_episodes_20.jsonl

Measured: turns and characters of episodes. Assumed, as constants below: characters to a token,
words of thought, how much of a GPU's arithmetic sampling and learning get, how long a token takes at least.
Nothing here ran on a GPU.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from agentevol.cli.benchmarks.learn.flops import PEAK_BF16
from agentgym_envs.formats import FORMATS, render_react
from agentgym_envs.registry import make

CHARACTERS_PER_TOKEN = 4.0
"""Of English under a byte-level vocabulary of 150,000 tokens; no such tokenizer is at hand here."""
TEMPLATE_TOKENS = 5
"""Around a message of ChatML."""
THOUGHT = "I have the mug. The task wants it clean, so I go to the sink next and clean it there."
"""Thought that is assumed for each turn."""
FAILED_TURNS = 3.0
"""A policy's episode has so many times the turns of the expert's while it learns, up to the limit."""
SAMPLING_UTILISATION = 0.05
"""Of the peak: decoding is bound by memory."""
TOKEN_S = 0.02
"""From one sampled token of an episode to the next, at least, whatever the number of GPUs."""
LEARNING_UTILISATION = 0.35
"""Of the peak: bf16, layers computed again."""
GPU, SAMPLING_GPUS, LEARNING_GPUS = "H100", 4, 4
"""The preset `eight-gpus`: while one side computes the other waits."""
LIMITS = {"alfworld": 30, "webshop": 15}
"""Turns of an episode, at most."""
PARAMETERS = {"1.5B": 1.54e9, "7B": 7.62e9}


@dataclass(frozen=True)
class Length:
    """Means over episodes."""

    turns: float
    read: float
    """Tokens of the last prompt that were not sampled."""
    said: float


@dataclass(frozen=True)
class Recipe:
    """Size of a whole run."""

    name: str
    environment: str
    iterations: int
    episodes: int
    """In each of them."""
    passes: float
    """Readings of a token while learning, in forward passes: 3 for a gradient, 1 for what is only read."""


CLONED, CHOSEN = 2 * 3, 3 + 2
"""Two epochs of gradients; one, with old and reference log-probabilities."""
RECIPES = (
    Recipe("AgentEvol, 4 iterations of 500 tasks x 4, 2 epochs", "alfworld", 4, 2000, CLONED),
    Recipe("GiGPO, 150 iterations of 16 tasks x 8", "alfworld", 150, 128, CHOSEN),
    Recipe("AgentEvol, 4 iterations of 500 tasks x 4, 2 epochs", "webshop", 4, 2000, CLONED),
    Recipe("GiGPO, 150 iterations of 16 tasks x 8", "webshop", 150, 128, CHOSEN),
    Recipe("AMPO, 800 iterations of 16 turns x 16", "sotopia", 800, 256, CHOSEN),
)
AMPO_TOKENS = 647.0
"""That a turn says, published for Qwen2.5-7B under AMPO (arXiv:2505.02156)."""


def measured(environment: str, episodes: int, limit: int) -> Length:
    """An environment under `react`, from episodes of its expert."""
    world: Any = make(environment)  # it waits on no endpoint
    form = FORMATS["react"]
    turns, read, said = list[float](), list[float](), list[float]()
    tasks = world.tasks("train")
    for task in [tasks[number * len(tasks) // episodes] for number in range(episodes)]:
        heard = [form.instruction(environment) or "", world.reset(task, 0).text]
        actions = world.expert(task) or []
        heard += [world.step(action).observation.text for action in actions]
        stretch = max(1.0, min(FAILED_TURNS, limit / len(actions)))
        spoken = [_tokens(render_react(THOUGHT, action)) for action in actions]
        turns.append(len(actions) * stretch)
        said.append(sum(spoken) * stretch)
        read.append(_tokens(heard[0]) + _tokens(heard[1]) + sum(map(_tokens, heard[2:])) * stretch)
    world.close()
    return Length(mean(turns), mean(read), mean(said))


def recorded(path: Path) -> Length:
    """A turn of Sotopia, from recorded episodes: what its speaker has read by then, on the average."""
    read = list[float]()
    for line in path.read_text(encoding="utf-8").splitlines():
        first, *later = json.loads(line)["raw_messages"]
        openings = [text for sender, _, text in first if sender == "Environment"]
        said = [text for turn in (first, *later) for sender, _, text in turn if sender != "Environment"]
        spoken = [_tokens(text) for text in said if text != "did nothing"]
        read.append(mean(map(_tokens, openings)) + sum(spoken) / 2)
    return Length(1, mean(read), AMPO_TOKENS)


def hours(recipe: Recipe, length: Length, parameters: float) -> tuple[float, float]:
    """Of sampling and of learning: 2 flops for each weight and token in a forward pass (arXiv:2001.08361)."""
    forward = 2 * parameters * recipe.episodes * (length.read + length.said) / PEAK_BF16[GPU]
    sampling = max(forward / (SAMPLING_UTILISATION * SAMPLING_GPUS), length.said * TOKEN_S)
    learning = recipe.passes * forward / (LEARNING_UTILISATION * LEARNING_GPUS)
    return recipe.iterations * sampling / 3600, recipe.iterations * learning / 3600


def _tokens(text: str) -> float:
    return len(text) / CHARACTERS_PER_TOKEN + TEMPLATE_TOKENS


def main(arguments: Sequence[str]) -> None:
    """Print lengths and hours."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks recipes", description="Lengths of episodes and GPU-hours."
    )
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--sotopia", type=Path, help="episodes as Sotopia publishes them, JSON lines")
    given = parser.parse_args(arguments)
    lengths = {name: measured(name, given.episodes, limit) for name, limit in LIMITS.items()}
    if given.sotopia:
        lengths["sotopia"] = recorded(given.sotopia)
    for name, length in lengths.items():
        print(f"{name}: {length.turns:.0f} turns, {length.read:.0f} tokens read, {length.said:.0f} said")
    for recipe in [recipe for recipe in RECIPES if recipe.environment in lengths]:
        for size, parameters in PARAMETERS.items():
            sampling, learning = hours(recipe, lengths[recipe.environment], parameters)
            used = (sampling + learning) * (SAMPLING_GPUS + LEARNING_GPUS)
            print(
                f"{recipe.environment}, {recipe.name}, {size}: {sampling:.2f} h sampling,"
                f" {learning:.2f} h learning, {used:.1f} GPU-hours ({GPU})"
            )
