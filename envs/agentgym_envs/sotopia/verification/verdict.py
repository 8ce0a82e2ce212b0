"""Verdict of a program about a conversation: `Verdict`, `Scores`."""

from typing import Literal

from pydantic import Field

from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA

GoalKind = Literal["price", "split", "friends"]


class Scores(Record):
    """Scores of one seat in the dimensions that the rules define."""

    goal: float = Field(ge=0, le=10, allow_inf_nan=False)
    financial_and_material_benefits: float | None = Field(default=None, ge=-5, le=5, allow_inf_nan=False)

    @property
    def by_dimension(self) -> dict[str, float | None]:
        """All seven dimensions in their order; None where the rules define no score, which is not 0."""
        defined = self.model_dump()
        return {dimension.name: defined.get(dimension.name) for dimension in SOTOPIA}


class Verdict(Record):
    """Scores of both seats, or none where the words do not say what was agreed."""

    kind: GoalKind
    scores: tuple[Scores, Scores] | None
    """By seat; None if undecided."""
    reason: str
    """The outcome, or why it is undecided."""
    agreed: bool = False
    """Whether the two agreed on a price or a division, or found their friend."""

    @property
    def decided(self) -> bool:
        """Whether there are scores."""
        return self.scores is not None
