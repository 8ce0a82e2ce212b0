"""Small models that benchmarks begin with, each built once on a machine from its recipe."""

import json
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

from agentevol.cli.benchmarks.progress import say
from agentevol.runs.starter.build import build
from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.recipe import StarterRecipe
from agentgym_envs.home import data_home


def built(name: str, recipe: StarterRecipe) -> Path:
    """Folder of a model, below `AGENTEVOL_HOME/benchmarks`, which is named by its recipe."""
    told = json.dumps(asdict(recipe), sort_keys=True, default=lambda value: value.model_dump())
    place = data_home() / "benchmarks" / f"{name}-{sha256(told.encode()).hexdigest()[:12]}"
    if not place.is_dir():
        say(f"building the base in {place}")
        build(recipe, place)
    return place


def careless_player() -> StarterRecipe:
    """Recipe of a player of generated problems with one operation who knows half of the sums, and where it
    miscalculates leaves out the working: a policy with a habit to unlearn.
    """
    own = BUILT_RECIPES["questions"]
    learn = own.learn.model_copy(update={"threads": 1})
    return replace(own, demonstrations={"1": 90_000, "2": 1_000}, care=0.4, learn=learn)
