"""Figures of one policy in one way of playing: `PlayFigures`, counted from its episodes."""

from collections.abc import Sequence
from statistics import fmean

from pydantic import Field

from agentevol.core.summaries import MeanScore, ThinkingSummary
from agentevol.rollout.dimensions.means import dimensions_of
from agentevol.rollout.dimensions.scores import OVERALL
from agentevol.rollout.metrics import endings
from agentevol.rollout.thinking import thinking_summary
from agentgym_envs.core import Record
from agentgym_store.records import Trajectory

GOAL = "goal"


class PlayFigures(Record):
    """Means over the scored episodes of a policy, each of its seats by itself."""

    n: int
    """Episodes that have a return."""
    reward: float
    dimensions: dict[str, MeanScore] = Field(default_factory=dict[str, MeanScore])
    """Scores by dimension, as in evaluations; none in environments without Sotopia's dimensions."""
    kinds: dict[str, float] = Field(default_factory=dict[str, float])
    """Goal, or reward without goals, by kind of task."""
    turns: float
    """Replies of an episode."""
    thinking: ThinkingSummary | None
    endings: dict[str, int]

    @property
    def goal(self) -> float | None:
        """Goal score, 0 to 10; None where none was given."""
        return self._score(GOAL)

    @property
    def overall(self) -> float | None:
        """Mean of the seven dimensions over the episodes in which all were scored; None without any."""
        return self._score(OVERALL)

    def _score(self, name: str) -> float | None:
        return self.dimensions.get(name, MeanScore()).mean


def counted(episodes: Sequence[Trajectory]) -> PlayFigures:
    """Figures of a policy's episodes; failed ones are in `endings` alone."""
    scored = [one for one in episodes if one.total_reward is not None]
    by_kind = {kind: [one for one in scored if one.kind == kind] for kind in sorted({o.kind for o in scored})}
    dimensions = dimensions_of(scored)
    measure = _goal if GOAL in dimensions else _reward
    return PlayFigures(
        n=len(scored),
        reward=_reward(scored) or 0.0,
        dimensions=dimensions,
        kinds={kind: mean for kind, ones in by_kind.items() if (mean := measure(ones)) is not None},
        turns=_mean([len(one.turns) for one in scored]) or 0.0,
        thinking=thinking_summary(scored),
        endings=endings(episodes),
    )


def _goal(episodes: Sequence[Trajectory]) -> float | None:
    return dimensions_of(episodes).get(GOAL, MeanScore()).mean


def _reward(episodes: Sequence[Trajectory]) -> float | None:
    return _mean([one.total_reward or 0.0 for one in episodes])


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
