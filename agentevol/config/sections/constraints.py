"""Configuration of constraints on expected costs."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Constraint(BaseModel):
    """Limit of the mean cost of an episode, and the update rule of its multiplier."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limit: float = Field(ge=0)
    form: Literal["plain", "log", "pid"] = "plain"
    """`log` updates the logarithm, so that 0 stays 0; `pid` damps the oscillation of `plain`."""
    learning_rate: float = Field(default=0.05, gt=0)
    """Step size of `plain` and `log`; 0.01 to 0.1."""
    initial: float = Field(default=0.0, ge=0)
    maximum: float = Field(default=100.0, gt=0)
    """Upper bound of the multiplier; at it, the constraint counts as infeasible."""
    window: int = Field(default=100, ge=100)
    """Fewest episodes that the mean cost is taken over; the multiplier is constant until there are so
    many.
    """
    proportional: float = Field(default=0.05, ge=0)
    integral: float = Field(default=0.005, ge=0)
    derivative: float = Field(default=0.1, ge=0)
    """Gains of `pid` (Stooke et al., 2020, arXiv:2007.03964)."""

    @model_validator(mode="after")
    def _can_move(self) -> "Constraint":
        if self.form == "log" and self.initial == 0:
            raise ValueError("a multiplier in log form stays at 0: give an initial one above it")
        if self.initial > self.maximum:
            raise ValueError(f"the initial multiplier {self.initial} lies above the maximum {self.maximum}")
        return self
