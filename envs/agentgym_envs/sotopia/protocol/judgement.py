"""Judgement of a conversation: `Judgement`, and the reader of a judge's reply.

The package gives a broken judge 0 or drops it; here a reply that is not complete and in range is a
`JudgementError`, and the episode has failed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentgym_envs.core import Record
from agentgym_envs.sotopia.protocol.actions import whole
from agentgym_envs.sotopia.protocol.dimensions import Dimension, overall

_FENCE = re.compile(r"\A\s*```[a-zA-Z]*[ \t]*\n")
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(\s*[}\]])', re.DOTALL)


class JudgementError(ValueError):
    """A judge's reply that is no judgement; the message says why."""


class Judgement(Record):
    """Scores and reasons of both seats by dimension."""

    scores: tuple[dict[str, int], dict[str, int]]
    reasons: tuple[dict[str, str], dict[str, str]]

    @property
    def overall(self) -> tuple[float, float]:
        """The mean of the raw scores by seat."""
        return overall(self.scores[0]), overall(self.scores[1])


def read_judgement(reply: str, names: tuple[str, str], dimensions: Sequence[Dimension]) -> Judgement:
    """The judgement in a reply; raises `JudgementError`.

    Scores belong to `agent_1` and `agent_2`, or to the two names, whatever their order. A code fence, text
    after the object, trailing commas, a wrapper `properties`, and the forms of other releases are read.
    """
    seats = _by_seat(_object(reply), names)
    entries = [_scored(seat, dimensions) for seat in seats]
    return Judgement(
        scores=(entries[0][0], entries[1][0]),
        reasons=(entries[0][1], entries[1][1]),
    )


def _object(reply: str) -> dict[str, Any]:
    """The first balanced JSON object."""
    text = _FENCE.sub("", reply)
    start = text.find("{")
    if start < 0:
        raise JudgementError("the reply has no JSON object")
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    for repaired in (str, _without_trailing_commas):
        try:
            return cast("dict[str, Any]", decoder.raw_decode(repaired(text[start:]))[0])
        except (ValueError, RecursionError):
            continue
    raise JudgementError("the reply's JSON object is broken")


def _without_trailing_commas(text: str) -> str:
    return _TRAILING_COMMA.sub(lambda found: found[1] or found[2], text)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no score")


def _by_seat(found: Mapping[str, Any], names: tuple[str, str]) -> list[Mapping[str, Any]]:
    """The entries of both seats, seat 0 first."""
    found = _inner(found, "properties")
    entries = _inner(found, "evaluations")
    if entries is found:
        # Release 0.1.4 has one field an agent.
        entries = {key.removesuffix("_evaluation"): value for key, value in found.items()}
    keys = ("agent_1", "agent_2") if set(entries) == {"agent_1", "agent_2"} else names
    if set(entries) != set(keys) or len(entries) != 2:
        judged = ", ".join(entries)[:200] or "nobody"
        raise JudgementError(f"the judgement is of {judged}, not of agent_1 and agent_2")
    return [_mapping(entries[key], key) for key in keys]


def _inner(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = found.get(key)
    return cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else found


def _mapping(value: object, key: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise JudgementError(f"the entry of {key} is no object")
    return cast("Mapping[str, Any]", value)


def _scored(
    entry: Mapping[str, Any], dimensions: Sequence[Dimension]
) -> tuple[dict[str, int], dict[str, str]]:
    scores: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for dimension in dimensions:
        if dimension.name not in entry:
            raise JudgementError(f"{dimension.name} is missing")
        reason, score = _pair(entry[dimension.name], dimension)
        scores[dimension.name], reasons[dimension.name] = score, reason
    return scores, reasons


def _pair(value: object, dimension: Dimension) -> tuple[str, int]:
    reason, score = _reason_and_score(value)
    if not isinstance(reason, str):
        raise JudgementError(f"{dimension.name} is no pair of a reasoning and a score")
    number = _integer(score)
    if number is None:
        raise JudgementError(f"the score {str(score)[:40]!r} of {dimension.name} is not an integer")
    if not dimension.low <= number <= dimension.high:
        raise JudgementError(
            f"the score {number} of {dimension.name} is outside {dimension.low} to {dimension.high}"
        )
    return whole(reason), number


def _reason_and_score(value: object) -> tuple[object, object]:
    """Both parts of `[reasoning, score]` or `{"reasoning", "score"}`, None where there are none."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return fields.get("reasoning"), fields.get("score")
    if isinstance(value, list) and len(pair := cast("list[object]", value)) == 2:
        return pair[0], pair[1]
    return None, None


def _integer(score: object) -> int | None:
    if isinstance(score, bool):
        return None
    if isinstance(score, int):
        return score
    if isinstance(score, float) and score.is_integer():
        return int(score)
    if isinstance(score, str) and re.fullmatch(r"[+-]?[0-9]{1,4}", score.strip()):
        return int(score)
    return None
