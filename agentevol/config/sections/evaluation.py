"""Configuration of the evaluation of a policy: `EvaluateConfig`."""

from typing import Literal

from pydantic import Field

from agentevol.config.sections.section import Level, Section


class EvaluateConfig(Section):
    """Evaluation of a policy on tasks that are never trained on."""

    split: str | None = None
    """None is `test`, or where the environment has no such split the part `train:test` of the explored
    one.
    """
    difficulty: Level | None = None
    """Only tasks of this level; None plays all."""
    held_out: float = Field(default=0.1, gt=0, lt=0.5)
    """Share of the explored split that each of its parts `train:valid` and `train:test` holds out."""
    episodes: int | None = Field(default=200, ge=1)
    """Number of tasks, evenly over the split; None plays all."""
    validation_split: str | None = None
    """Split by which the best checkpoint is chosen; None is `valid`, or where the environment has no such
    split the part `train:valid` of the explored one.
    """
    validation_episodes: int | None = Field(default=100, ge=1)
    measure: Literal["success", "reward"] = "success"
    """Measure by which the best checkpoint is chosen: the share of episodes won, or the mean return, for
    environments that are seldom won outright and reward what comes near.
    """
    temperature: float = Field(default=0.0, ge=0)
    """0 is greedy."""
    patience: int | None = Field(default=None, ge=1)
    """Stop early after this many iterations without a better checkpoint."""
