"""Figures of one policy in one way of playing: `PlayFigures`, counted from its episodes."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any, cast

from pydantic import Field

from agentevol.core.summaries import ThinkingSummary
from agentevol.rollout.metrics import endings
from agentevol.rollout.thinking import thinking_summary
from agentgym_envs.core import Record
from agentgym_store.records import Trajectory


class PlayFigures(Record):
    """Means over the scored episodes of a policy, each of its seats by itself."""

    n: int
    """Scored episodes."""
    reward: float
    goal: float | None
    """Goal score, 0 to 10; None in environments without Sotopia's dimensions."""
    overall: float | None
    """Mean of the seven dimensions; None where one of them is not defined."""
    kinds: dict[str, float] = Field(default_factory=dict[str, float])
    """Goal, or reward without goals, by kind of task."""
    turns: float
    """Replies of an episode."""
    thinking: ThinkingSummary | None
    endings: dict[str, int]


def counted(episodes: Sequence[Trajectory]) -> PlayFigures:
    """Figures of a policy's episodes; failed ones are in `endings` alone."""
    scored = [one for one in episodes if one.total_reward is not None]
    rewards = [one.total_reward or 0.0 for one in scored]
    goals = [_goal(one) for one in scored]
    has_goals = bool(goals) and None not in goals
    values = [goal or 0.0 for goal in goals] if has_goals else rewards
    overall = [_last(one).get("overall_score") for one in scored]
    return PlayFigures(
        n=len(scored),
        reward=_mean(rewards),
        goal=_mean(values) if has_goals else None,
        overall=_mean(cast("list[float]", overall)) if overall and None not in overall else None,
        kinds={
            kind: _mean([value for value, one in zip(values, scored, strict=True) if one.kind == kind])
            for kind in sorted({one.kind for one in scored})
        },
        turns=_mean([len(one.turns) for one in scored]),
        thinking=thinking_summary(scored),
        endings=endings(episodes),
    )


def _goal(episode: Trajectory) -> float | None:
    dimensions = _last(episode).get("dimensions")
    goal = cast("dict[str, Any]", dimensions).get("goal") if isinstance(dimensions, dict) else None
    return float(goal) if isinstance(goal, int | float) else None


def _last(episode: Trajectory) -> dict[str, Any]:
    """Information of the last step; empty in an episode without a turn."""
    return cast("dict[str, Any]", episode.turns[-1].info) if episode.turns else {}


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0
