"""Paired comparison of two evaluations by task and seat."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import cast

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.rollout.dimensions.clusters import clustered_mean
from agentevol.rollout.dimensions.scores import OVERALL
from agentgym_envs.core import Record

SETTINGS: Mapping[str, Callable[[EvaluationRecord], object]] = {
    **{name: attrgetter(name) for name in ("env", "env_version", "data_version", "split", "options")},
    **{name: attrgetter(name) for name in ("max_turns", "view", "protocol", "partner")},
    "judge": attrgetter("judge_identity"),
    "environment's partner": attrgetter("partner_identity"),
}
"""What has to agree: else scores differ for other reasons than the policy."""
REWARD = "reward"
Unit = tuple[str, int | None]
"""A task, and the policy's seat."""


class PairedScore(Record):
    """A score of two evaluations on the tasks, by seat, for which both have it."""

    first: float
    second: float
    difference: MeanScore
    """The second minus the first; `n` are pairs, whose interval is clustered by scenario."""


def differing(
    first: Sequence[EvaluationRecord], second: Sequence[EvaluationRecord]
) -> dict[str, tuple[str, str]]:
    """Settings in which two evaluations differ, with both values as JSON, of mappings member by member."""
    found: dict[str, tuple[str, str]] = {}
    for name, value_of in SETTINGS.items():
        one, another = _values(first, value_of), _values(second, value_of)
        found |= _apart(name, one, another)
    return found


def paired(first: Sequence[EvaluationRecord], second: Sequence[EvaluationRecord]) -> dict[str, PairedScore]:
    """Return and scores of the second evaluation against the first: the differences of the same task in the
    same seat, with cluster-robust intervals (`clustered_mean`).

    Repeats of a task are averaged first, so that each task counts once. Raises `ConfigError` where both have
    no score of the same task and seat.
    """
    ones, others = _by_unit(first), _by_unit(second)
    clusters = {_unit(record): record.scenario for record in (*second, *first) if record.reward is not None}
    names = dict.fromkeys([REWARD, *(name for record in (*first, *second) for name in record.scores or ())])
    found: dict[str, PairedScore] = {}
    for name in sorted(names, key=OVERALL.__eq__):  # the overall score comes last
        shared = [unit for unit in ones if name in ones[unit] and name in others.get(unit, {})]
        if not shared:
            continue
        changes = [others[unit][name] - ones[unit][name] for unit in shared]
        found[name] = PairedScore(
            first=fmean(ones[unit][name] for unit in shared),
            second=fmean(others[unit][name] for unit in shared),
            difference=clustered_mean(changes, [clusters[unit] for unit in shared]),
        )
    if not found:
        raise ConfigError("nothing to compare: no task was scored in the same seat by both")
    return found


def _by_unit(records: Iterable[EvaluationRecord]) -> dict[Unit, Mapping[str, float]]:
    """Mean of each score over the episodes of a task in which the policy had this seat."""
    found: dict[Unit, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.role != "policy":
            continue
        for name, score in {REWARD: record.reward, **(record.scores or {})}.items():
            if score is not None:
                found[_unit(record)][name].append(score)
    return {unit: {name: fmean(scores) for name, scores in by.items()} for unit, by in found.items()}


def _unit(record: EvaluationRecord) -> Unit:
    return record.task, record.seat


def _values(
    records: Iterable[EvaluationRecord], value_of: Callable[[EvaluationRecord], object]
) -> dict[str, object]:
    """Distinct values of a setting by their JSON, in the episodes with a return: others do not tell all."""
    told = [value_of(one) for one in records if one.role == "policy" and one.reward is not None]
    return {json.dumps(value, sort_keys=True, ensure_ascii=False): value for value in told}


def _apart(name: str, one: Mapping[str, object], another: Mapping[str, object]) -> dict[str, tuple[str, str]]:
    if one.keys() == another.keys():
        return {}
    values = [*one.values(), *another.values()]
    if len(one) == len(another) == 1 and all(isinstance(value, dict) for value in values):
        first, second = (cast("dict[str, object]", value) for value in values)
        told = {key: (json.dumps(first.get(key)), json.dumps(second.get(key))) for key in {**first, **second}}
        return {f"{name}.{key}": pair for key, pair in told.items() if pair[0] != pair[1]}
    return {name: (", ".join(sorted(one)), ", ".join(sorted(another)))}
