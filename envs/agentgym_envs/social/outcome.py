"""Outcome of an episode for one seat: `Outcome`, in Sotopia's seven dimensions where they are defined."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

LABEL: Final = (
    "rule-based partner and outcome verifier; not Sotopia's judge; not a measure of social intelligence"
)
"""Label of these scores; it stands beside them everywhere."""


class Outcome(Record):
    """Scores that a program computed from the log. A dimension that a family does not define is None."""

    goal: float = Field(ge=0, le=10)
    secret: float | None = Field(default=None, ge=-10, le=0)
    social_rules: float | None = Field(default=None, ge=-10, le=0)
    financial: float | None = Field(default=None, ge=-5, le=5)
    facts: Mapping[str, Any] = Field(default_factory=dict)
    """Further results of the family, for reports: `deal`, `pareto`, ..."""

    @property
    def reward(self) -> float:
        """Training reward, 0 to 1: goal/10 x (1 + secret/10) x (1 + social_rules/10); None has factor 1."""
        return self.goal / 10 * (1 + (self.secret or 0.0) / 10) * (1 + (self.social_rules or 0.0) / 10)

    @property
    def scores(self) -> dict[str, float | None]:
        """All seven dimensions in Sotopia's order."""
        own = {
            "secret": self.secret,
            "social_rules": self.social_rules,
            "financial_and_material_benefits": self.financial,
            "goal": self.goal,
        }
        return {one.name: own.get(one.name) for one in SOTOPIA}

    @property
    def dimensions(self) -> dict[str, float | None]:
        """The scores to three decimals."""
        return {name: None if score is None else round(score, 3) for name, score in self.scores.items()}

    @property
    def overall(self) -> float | None:
        """Mean of the seven scores; None unless all are defined, which no family does."""
        scores = [score for score in self.dimensions.values() if score is not None]
        return sum(scores) / len(SOTOPIA) if len(scores) == len(SOTOPIA) else None
