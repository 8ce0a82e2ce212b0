"""Configuration of episodes to learn from: explored ones, their length, and demonstrations."""

from math import inf
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator

from agentevol.config.sections.section import Level, Section


class ExploreConfig(Section):
    """The E-step: sample episodes from the current policy."""

    split: str | None = None
    """None is `train`."""
    difficulty: Level | None = None
    """Only tasks of this level; None draws from all."""
    tasks: int = Field(default=100, ge=1)
    """Tasks of an iteration; each iteration continues after the previous one, in an order drawn from
    `seed`.
    """
    samples: int = Field(default=4, ge=1)
    """Episodes of every task: K."""
    resample: int = Field(default=0, ge=0)
    """Maximum rounds of further tasks, in place of those whose samples all had the same return, which have no
    signal for algorithms that compare them (dynamic sampling, arXiv:2503.14476). Only the other tasks are
    trained on.
    """
    temperature: float | tuple[float, float] = 1.0
    """Sampling temperature. Two numbers are a range, `[0.5,1.0]`: each episode has one of its own, drawn
    uniformly by its seed and recorded (`Trajectory.temperature`), and is learnt at it.
    """
    max_new_tokens: int | None = Field(default=None, ge=1)
    """Maximum tokens of an action; None is twice the longest action of the environment's expert, at least
    16.
    """
    retries: int = Field(default=2, ge=0)
    """Number of times that an episode broken by infrastructure is played again before it counts as failed."""
    max_failed: float = Field(default=0.05, ge=0, le=1)
    """Share of failed episodes above which the run stops."""
    commit_every: int = Field(default=64, ge=1)
    """Finished episodes in one commit to the table: the maximum loss when the run is killed."""

    @field_validator("temperature", mode="before")
    @classmethod
    def _is_above_0_and_rises(cls, value: object) -> float | tuple[float, float]:
        ends: Any = value if isinstance(value, list | tuple) else [value]
        try:
            low, *high = [float(end) for end in ends]
        except (TypeError, ValueError) as cause:
            raise ValueError(f"a number, or a range as in [0.5,1.0], not {value!r}") from cause
        if len(high) > 1 or not all(0 < end < inf for end in (low, *high)) or (high and not low < high[0]):
            raise ValueError(
                f"a finite number above 0, or a range of two of them, the lower first, as in [0.5,1.0], not"
                f" {value!r}"
            )
        return (low, high[0]) if high else low


class HorizonConfig(Section):
    """Growing length of explored episodes in the course of the run (ScalingInter, arXiv:2509.08755)."""

    rounds: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)
    """Allowed turns, one number after another, never decreasing."""
    every: int = Field(default=1, ge=1)
    """Iterations of each; with `success`, the number in a row that has to reach it."""
    success: float | None = Field(default=None, gt=0, le=1)
    """Continue with the next number only at this success rate on the validation tasks; None goes by the
    iteration alone.
    """

    @model_validator(mode="after")
    def _rounds_never_decrease(self) -> "HorizonConfig":
        if list(self.rounds) != sorted(self.rounds):
            raise ValueError(f"rounds are never fewer turns than before: {list(self.rounds)}")
        return self


class DemonstrationConfig(Section):
    """Episodes of the environment's expert: D_s of AgentEvol."""

    tasks: int = Field(default=0, ge=0)
    """Number of tasks of the explored split, with an episode of each. `select.merge` says whether iterations
    train on them, too.
    """
    weight: float = Field(default=1.0, gt=0)
    """Weight of their training sequences, relative to explored ones."""
    clone: bool | None = None
    """True to train the base on them before the first round (behavioural cloning); None: where it is no agent
    yet, that is, without `agentevol.json`.
    """
    epochs: int | None = Field(default=None, ge=1)
    """Epochs of cloning; None is `learn.epochs`."""
    learning_rate: float | None = Field(default=None, gt=0)
    """Learning rate of cloning; None is `learn.learning_rate`."""

    @model_validator(mode="after")
    def _clones_what_is_shown(self) -> "DemonstrationConfig":
        if self.clone and not self.tasks:
            raise ValueError("clone has no effect without tasks")
        for name in ("epochs", "learning_rate"):
            if getattr(self, name) is not None and (self.clone is False or not self.tasks):
                raise ValueError(f"{name} has no effect without clone")
        return self
