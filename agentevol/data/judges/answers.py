"""Transcripts of episodes for a judge, and the scores in its answer."""

import json
from collections.abc import Mapping
from typing import Any

from agentevol.core.judges import JudgedEpisode

Range = tuple[float, float]
"""Lowest and highest score."""


class AnswerError(ValueError):
    """An answer without the scores that were asked for; the message says why."""


def transcript(episode: JudgedEpisode) -> str:
    """The episode as JSON, so that no text of it can end the transcript."""
    return f"Transcript:\n{json.dumps(told_of(episode), ensure_ascii=False, indent=1)}"


def told_of(episode: JudgedEpisode) -> dict[str, Any]:
    """Members of a transcript."""
    turns = [{"agent": turn.action, "environment": turn.observation} for turn in episode.turns]
    return {
        "environment": episode.env,
        "task": episode.instruction,
        "first observation": episode.initial_observation,
        "turns": turns,
    }


def scores_in(answer: str, ranges: Mapping[str, Range]) -> tuple[dict[str, float], dict[str, Any]]:
    """Scores of an answer by dimension, and the whole object.

    The answer has one JSON object, whose `scores` has these dimensions and no other; a score is a whole
    number, or an object with a `score`. Raises `AnswerError`.
    """
    told = _value_in(answer)
    scores: Any = told.get("scores") if isinstance(told, dict) else None
    if not isinstance(scores, dict) or set(scores) != set(ranges):
        raise AnswerError(f"the answer has other scores than {', '.join(ranges)}: {answer[:100]!r}")
    return {name: _score(name, scores[name], within) for name, within in ranges.items()}, told


def object_in(answer: str) -> dict[str, Any]:
    """The JSON object of an answer, which may stand between other words. Raises `AnswerError`."""
    told = _value_in(answer)
    if not isinstance(told, dict):
        raise AnswerError(f"the answer is no JSON object: {answer[:100]!r}")
    return told


def _value_in(answer: str) -> Any:
    start = answer.find("{")
    try:
        return json.JSONDecoder().raw_decode(answer[start:] if start >= 0 else answer)[0]
    except (ValueError, RecursionError):
        raise AnswerError(f"the answer is no JSON object: {answer[:100]!r}") from None


def _score(name: str, given: Any, within: Range) -> float:
    value = given.get("score") if isinstance(given, dict) else given
    if isinstance(value, bool) or not isinstance(value, int | float) or value % 1 != 0:
        raise AnswerError(f"the score of {name} is {value!r}, not a whole number")
    if not within[0] <= value <= within[1]:
        raise AnswerError(f"the score of {name} is {value!r}, not from {within[0]:g} to {within[1]:g}")
    return float(value)
