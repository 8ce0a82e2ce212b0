"""Starter recipe for any environment that has a demonstrating player or an expert."""

import re
from statistics import fmean
from typing import Any

from agentevol.config.fitting import fitted
from agentevol.config.run import load
from agentevol.core.action_formats import registry as formats
from agentevol.core.starter_names import MANY
from agentevol.rollout.environments import demonstrated, opened, task_counts
from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.many_recipe import MANY_RECIPE
from agentevol.runs.starter.mode_recipes import MODE_RECIPES
from agentevol.runs.starter.recipe import LEARN, Shape, StarterRecipe
from agentevol.runs.starter.shipped_recipes import RECIPES
from agentgym_envs.core import Environment
from agentgym_envs.episodes import Player, follow
from agentgym_envs.formats import ActionFormat
from agentgym_envs.tools import texts_with_tools

WORDS = 1_000_000
"""Approximate number of words of all demonstrations together."""
FEWEST, MOST = 200, 4_000
"""Bounds of the demonstrations of one difficulty."""
STEPS = 500
"""Fewest optimiser steps, except for environments of very few words."""
SAMPLED = 8
"""Number of demonstrations from which the length of an episode is estimated."""
CARE = 0.5
MOST_WORDS = 2_600
"""Words of the vocabulary, with which a model is smaller than 6 MB."""
_WORD = re.compile(r"\w+|[^\w\s]")
_NUMBERS = tuple(f"{space}{number}" for space in ("", " ") for number in range(100))


def recipe_for(name: str, action_format: str = "plain") -> StarterRecipe:
    """The package's own recipe for the environment `name`, or for `many` of them, whose messages are plain or
    in thinking modes, or the general one, also for `NAME:ARGUMENT`.
    """
    plain = {**BUILT_RECIPES, **RECIPES, MANY: MANY_RECIPE}
    own = {"plain": plain, "modes": MODE_RECIPES}.get(action_format, {})
    if name in own:
        return own[name]
    return general_recipe(name, action_format)


def general_recipe(name: str, action_format: str = "plain") -> StarterRecipe:
    """Recipe with about `WORDS` words of demonstrations, from the tasks that a run would explore.

    Raises `ConfigError` for an environment that has no player, or no split that a run can explore.
    """
    form = formats.action_format(action_format)
    config = load(None, [f"env={name}"])
    with opened(config.environment) as environment:
        config = fitted(config, task_counts(environment))
        words = {
            level: _words(environment, config.explore_split, level, form)
            for level in environment.difficulties or ("",)
            if environment.tasks(config.explore_split, level or None)  # a level may be of another split alone
        }
    counts = {
        level: round(min(max(WORDS / len(words) / length, FEWEST), MOST)) for level, length in words.items()
    }
    tokens = round(sum(count * words[level] for level, count in counts.items()))
    batch = min(max(tokens // STEPS, 128), LEARN.batch_tokens)
    return StarterRecipe(
        environment=config.environment.name,
        action_format=action_format,
        demonstrations=counts,
        care=CARE,
        worlds=(dict(config.environment.options),),
        split=config.explore_split,
        held_out=tuple(config.held_out_parts),
        held_out_share=config.evaluate.held_out,
        vocabulary_episodes=min(1_500, *counts.values()),
        vocabulary_most=MOST_WORDS,
        vocabulary_texts=_NUMBERS,
        shape=Shape(rotary_base=1e6, copies=True),
        learn=LEARN.model_copy(update={"batch_tokens": batch}),
    )


def _words(environment: Environment[Any], split: str, difficulty: str, form: ActionFormat) -> float:
    """Mean words of an episode of the environment's player, texts of the environment included."""
    player, tasks = Player(), environment.tasks(split, difficulty or None)
    found: list[int] = []
    for number in range(SAMPLED):
        task = tasks[number % len(tasks)]
        _, actions, messages = demonstrated(environment, task, number, CARE, form)
        episode = player.play(environment, task, follow(actions), seed=number)
        heard = [episode.first, *(result.observation for result in episode.results)]
        texts = [*messages, *texts_with_tools(heard)]
        found.append(sum(len(_WORD.findall(text)) for text in texts))
    player.close()
    return fmean(found)
