"""Outcomes of trials."""

from agentevol.cli.benchmarks.aml.arms import Trial
from agentevol.cli.benchmarks.aml.figures import PlayFigures
from agentgym_envs.core import Record


class Outcome(Record):
    """Figures of an arm with a seed."""

    arm: str
    seed: int
    minutes: float
    """Training and play, wall clock."""
    plays: dict[str, PlayFigures]
    """By way of playing: `partner`, `self`."""

    @property
    def trial(self) -> Trial:
        """The trial."""
        return Trial(self.arm, self.seed)
