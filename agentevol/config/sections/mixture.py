"""Configuration of the environments of a mixed run: weights and own settings of each.

environment.name = "alfworld,textcraft"    a run in both, whose iterations explore as many tasks of each
mixture.textcraft.weight = 2               twice as many of textcraft
mixture.alfworld.explore.difficulty        what `explore.difficulty` is in a run in alfworld alone
"""

from typing import Literal

from pydantic import Field

from agentevol.config.sections.environment import Options
from agentevol.config.sections.section import Level, Section


class MixedOptions(Section):
    """Options of one environment of a mixed run, and the length of its episodes."""

    max_turns: int | None = Field(default=None, ge=1, le=10_000)
    """As `environment.max_turns`."""
    options: Options = Field(default_factory=dict[str, str | int | float | bool])
    """As `environment.options`."""
    seats: Literal[1] | None = None
    """As `environment.seats`: 1 where the environment has several, whose other seats it plays itself."""


class MixedExploration(Section):
    """Explored tasks of one environment of a mixed run."""

    split: str | None = None
    """As `explore.split`."""
    difficulty: Level | None = None
    """As `explore.difficulty`."""
    max_new_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of an action here, where `explore.max_new_tokens` is None: that is the largest of all
    environments then.
    """


class MixedEvaluation(Section):
    """Held-out tasks of one environment of a mixed run."""

    split: str | None = None
    """As `evaluate.split`."""
    validation_split: str | None = None
    """As `evaluate.validation_split`."""
    difficulty: Level | None = None
    """As `evaluate.difficulty`."""
    episodes: int | None = Field(default=None, ge=1)
    """None is `evaluate.episodes`."""
    validation_episodes: int | None = Field(default=None, ge=1)
    """None is `evaluate.validation_episodes`."""


class MixedEnvironment(Section):
    """One environment of a mixed run."""

    weight: float = Field(default=1.0, ge=0)
    """Share of `explore.tasks` and of `demonstrations.tasks`, relative to the other environments. With 0 the
    environment is evaluated and never trained on: the effect of the others on it is transfer.
    """
    environment: MixedOptions = MixedOptions()
    explore: MixedExploration = MixedExploration()
    evaluate: MixedEvaluation = MixedEvaluation()
