"""The policy that all arms clone: a small model of generated problems, built once on a machine."""

import json
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

from agentevol.cli.benchmarks.progress import say
from agentevol.cli.benchmarks.rlhf.arms import GENERATED
from agentevol.core.errors import ConfigError
from agentevol.runs.starter.build import build
from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.recipe import StarterRecipe
from agentgym_envs.home import data_home


def recipe() -> StarterRecipe:
    """Recipe of the base: mostly problems with one operation, so that it is right about every other time."""
    own = BUILT_RECIPES[GENERATED]
    learn = own.learn.model_copy(update={"threads": 1})
    return replace(own, demonstrations={"1": 16_000, "2": 2_000}, learn=learn)


def with_base(env: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Settings with a base, which is built where none is given. Raises `ConfigError` in other environments
    than the generated problems.
    """
    if any(one.partition("=")[0].strip() == "base" for one in given):
        return given
    if env != GENERATED:
        raise ConfigError(f"--env {env} has no base of its own: give --set base=FOLDER")
    return (*given, f"base={_built()}")


def _built() -> Path:
    """Folder of the base, which is named by its recipe."""
    wanted = recipe()
    told = json.dumps(asdict(wanted), sort_keys=True, default=lambda value: value.model_dump())
    place = data_home() / "benchmarks" / f"rlhf-{sha256(told.encode()).hexdigest()[:12]}"
    if not place.is_dir():
        say(f"building the base in {place}")
        build(wanted, place)
    return place
