"""The policy that all arms clone: a small model of generated problems, built once on a machine."""

from dataclasses import replace

from agentevol.cli.benchmarks.built_bases import built
from agentevol.cli.benchmarks.rlhf.arms import GENERATED
from agentevol.core.errors import ConfigError
from agentevol.runs.starter.built_recipes import BUILT_RECIPES
from agentevol.runs.starter.recipe import StarterRecipe


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
    return (*given, f"base={built('rlhf', recipe())}")
