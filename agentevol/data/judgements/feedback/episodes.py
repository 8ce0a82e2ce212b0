"""Scores of whole episodes: the dimensions of a rubric, and one score of all of them."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from agentevol.data.judgements.dimension_sets import dimensions_of
from agentevol.data.judgements.feedback.asking import Answer
from agentevol.data.judgements.feedback.records import Origin, origin
from agentevol.data.judgements.feedback.subjects import Subject
from agentevol.data.judgements.feedback.views import item
from agentevol.data.judgements.items import Item
from agentevol.data.judgements.judges.endpoint import EndpointJudge, instructions
from agentevol.data.judgements.judges.interface import ItemJudge
from agentevol.data.judgements.outcomes import NoRating, Ok, SeatScores, Usage
from agentevol.data.judgements.panel import Asked, Panel, default_dimensions
from agentgym_envs.sotopia.protocol.dimensions import Dimension
from agentgym_envs.sotopia.protocol.prompts import judge_prompt
from agentgym_store.feedback.records import Feedback, Kind
from agentgym_store.records import Trajectory


class EpisodeScores:
    """Scores of whole episodes by a judge; of an episode of `sotopia`, those of its seat."""

    kind: Kind = "dimensions"

    def __init__(
        self, judge: ItemJudge, asked: Asked, *, hide_outcome: bool = False, timeout_s: float = 600.0
    ) -> None:
        self._panel, self._asked = Panel([judge], timeout_s), asked
        self._hide_outcome = hide_outcome
        self.origin: Origin = origin(judge, "episodes", _prompts(asked), asked.model_dump(), hide_outcome)
        self.calls = judge.attempts * asked.samples if isinstance(judge, EndpointJudge) else 0

    async def answer(self, subject: Subject, episodes: Sequence[Trajectory]) -> Answer:
        """Records of the episode's dimensions and score. Raises `NoRating`."""
        (episode,) = episodes
        told = item(episode, hide_outcome=self._hide_outcome)
        found = await self._panel.judge(told, self._asked)
        if not isinstance(found, Ok):
            raise NoRating(found.kind, found.detail, found.usage)
        seat = episode.seat if told.seats > 1 else 0
        reasons = [sample.reasons for one in found.opinions if one.status == "ok" for sample in one.samples]
        note = note_of(reasons[0][seat]) if reasons and len(reasons[0]) > seat else ""
        ranges = dimensions_of(_dimensions(self._asked, told))
        records = scored(self.origin, episode.id, None, found.scores[seat], ranges, note, found.usage)
        return records, found.usage


def scored(
    origin: Origin,
    episode: str,
    turn: int | None,
    scores: SeatScores,
    dimensions: Sequence[Dimension],
    note: str,
    usage: Usage,
) -> list[Feedback]:
    """Records of scores by dimension: the values, and their mean where every dimension has one.

    The mean is on the dimensions' own scale if they have one in common, else of shares of their ranges.
    """
    given = {name: score for name, score in scores.items() if score is not None}
    ranges = {(float(one.low), float(one.high)) for one in dimensions}
    low, high = ranges.pop() if len(ranges) == 1 else (None, None)
    told = {"kind": "dimensions", "values": given, "low": low, "high": high}
    found = [origin.record(episode, turn, told, note, cost=usage.cost)]
    if len(given) == len(dimensions):
        cost = None if usage.cost is None else 0.0
        found.append(origin.record(episode, turn, _mean(given, dimensions), note, cost=cost))
    return found


def _mean(given: dict[str, float], dimensions: Sequence[Dimension]) -> dict[str, Any]:
    ranges = {(one.low, one.high) for one in dimensions}
    if len(ranges) == 1:
        (low, high), value = ranges.pop(), fmean(given.values())
    else:
        low, high, value = 0, 1, fmean(one.normalised(given[one.name]) for one in dimensions)
    return {"kind": "score", "value": value, "low": float(low), "high": float(high)}


def _dimensions(asked: Asked, told: Item) -> Any:
    return asked.dimensions or default_dimensions(told)


def _prompts(asked: Asked) -> list[str]:
    """Prompts of a transcript and of a conversation."""
    of_transcripts = dimensions_of(asked.dimensions or "rubric")
    of_conversations = dimensions_of(asked.dimensions or "sotopia")
    return [instructions(of_transcripts), judge_prompt("", ("", ""), [], of_conversations)]


def note_of(reasons: dict[str, str]) -> str:
    """Reasons by dimension in one line."""
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)
