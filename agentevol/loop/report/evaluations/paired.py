"""Paired comparison of two evaluations by task and seat."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import cast

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.losses import LOSS_CLASSES, LossClass, loss_class
from agentevol.loop.report.evaluations.performance import INVALID, MEASURES
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.hypothesis_tests import sign_flip_test
from agentevol.rollout.dimensions.clusters import clustered_mean, linearised
from agentevol.rollout.dimensions.scores import OVERALL
from agentgym_envs.core import Record

SETTINGS: Mapping[str, Callable[[EvaluationRecord], object]] = {
    **{name: attrgetter(name) for name in ("env", "env_version", "data_version", "split", "options")},
    **{name: attrgetter(name) for name in ("max_turns", "view", "protocol", "partner")},
    "judge": attrgetter("judge_identity"),
    "environment's partner": attrgetter("partner_identity"),
}
"""Fields that have to agree: else scores differ for other reasons than the policy."""
REWARD = "reward"
Unit = tuple[str, int | None]
"""A task, and the policy's seat."""


class PairedScore(Record):
    """A score of two evaluations on the tasks, by seat, for which both have it."""

    first: float
    second: float
    difference: MeanScore
    """The second minus the first; `n` are pairs, whose interval is clustered by scenario."""


class PairedTest(PairedScore):
    """A paired score with a test of no difference."""

    p: float
    """Two-sided p-value (`sign_flip_test` of the sums of the clusters' differences)."""


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
        found[name] = _pair(
            [ones[unit][name] for unit in shared],
            [others[unit][name] for unit in shared],
            [clusters[unit] for unit in shared],
        )
    if not found:
        raise ConfigError("nothing to compare: no task was scored in the same seat by both")
    return found


def paired_performance(
    first: Sequence[EvaluationRecord], second: Sequence[EvaluationRecord]
) -> dict[str, PairedScore]:
    """Success, turns, tokens and the share of invalid actions of the second evaluation against the first,
    paired as in `paired`; measures that are not known in both are left out.
    """
    ones, others = _scored(first), _scored(second)
    shared = [unit for unit in ones if unit in others]
    found: dict[str, PairedScore] = {}
    for name in ("success", "turns", "tokens"):
        measure = MEASURES[name]
        left, right = (_means(side, shared, measure) for side in (ones, others))
        both = [unit for unit in shared if unit in left and unit in right]
        if both:
            found[name] = _pair([left[u] for u in both], [right[u] for u in both], _clusters(ones, both))
    invalid = _invalid(ones, others, shared)
    return found if invalid is None else {**found, INVALID: invalid}


def paired_test(
    first: Sequence[EvaluationRecord], second: Sequence[EvaluationRecord], measure: str
) -> PairedTest | None:
    """One of `MEASURES` of the second evaluation against the first, paired as in `paired`; None where it is
    known of no task in both.
    """
    ones, others = _scored(first), _scored(second)
    shared = [unit for unit in ones if unit in others]
    left, right = (_means(side, shared, MEASURES[measure]) for side in (ones, others))
    both = [unit for unit in shared if unit in left and unit in right]
    if not both:
        return None
    sums: dict[str, float] = defaultdict(float)
    clusters = _clusters(ones, both)
    for unit, cluster in zip(both, clusters, strict=True):
        sums[cluster] += right[unit] - left[unit]
    found = _pair([left[unit] for unit in both], [right[unit] for unit in both], clusters)
    return PairedTest(**dict(found), p=sign_flip_test(list(sums.values())))


def paired_losses(
    first: Sequence[EvaluationRecord], second: Sequence[EvaluationRecord]
) -> dict[LossClass, PairedScore]:
    """Shares of lost episodes by class of the second evaluation against the first, paired as in `paired`;
    classes that neither has are left out.
    """
    ones, others = _scored(first), _scored(second)
    shared = [unit for unit in ones if unit in others]
    found: dict[LossClass, PairedScore] = {}
    for name in LOSS_CLASSES:
        left, right = (_means(side, shared, _is_of(name)) for side in (ones, others))
        if any(left.values()) or any(right.values()):
            clusters = _clusters(ones, shared)
            found[name] = _pair([left[u] for u in shared], [right[u] for u in shared], clusters)
    return found


def _is_of(name: LossClass) -> Callable[[EvaluationRecord], float]:
    return lambda one: float(loss_class(one) == name)


def by_group(
    first: Sequence[EvaluationRecord],
    second: Sequence[EvaluationRecord],
    group: Callable[[EvaluationRecord], str],
) -> dict[str, dict[str, PairedScore]]:
    """Return and success by group of tasks, sorted; tasks that only one of them played are in no pair."""
    found: dict[str, dict[str, PairedScore]] = {}
    for name in sorted({group(one) for one in first} & {group(one) for one in second} - {""}):
        left, right = ([one for one in side if group(one) == name] for side in (first, second))
        if set(_scored(left)) & set(_scored(right)):
            success = paired_performance(left, right)["success"]
            found[name] = {"success": success, REWARD: paired(left, right)[REWARD]}
    return found


def _scored(records: Iterable[EvaluationRecord]) -> dict[Unit, list[EvaluationRecord]]:
    """Episodes of the policy with a return, by task and seat."""
    found: dict[Unit, list[EvaluationRecord]] = defaultdict(list)
    for one in records:
        if one.role == "policy" and one.reward is not None:
            found[_unit(one)].append(one)
    return found


def _means(
    side: Mapping[Unit, Sequence[EvaluationRecord]],
    units: Iterable[Unit],
    measure: Callable[[EvaluationRecord], float | None],
) -> dict[Unit, float]:
    values = {unit: [value for one in side[unit] if (value := measure(one)) is not None] for unit in units}
    return {unit: fmean(known) for unit, known in values.items() if known}


def _invalid(
    ones: Mapping[Unit, Sequence[EvaluationRecord]],
    others: Mapping[Unit, Sequence[EvaluationRecord]],
    units: Iterable[Unit],
) -> PairedScore | None:
    """Shares of invalid actions on both sides, each a ratio of sums; None where they are not known."""
    sides = ones, others
    found = [_means(side, units, lambda one: one.invalid_actions) for side in sides]
    turns = [_means(side, units, MEASURES["turns"]) for side in sides]
    both = [unit for unit in found[0] if unit in found[1] and turns[0][unit] and turns[1][unit]]
    if not both:
        return None
    left, right = (
        linearised([invalid[unit] for unit in both], [of[unit] for unit in both])
        for invalid, of in zip(found, turns, strict=True)
    )
    return _pair(left, right, _clusters(ones, both))


def _clusters(side: Mapping[Unit, Sequence[EvaluationRecord]], units: Iterable[Unit]) -> list[str]:
    return [side[unit][0].scenario for unit in units]


def _pair(first: Sequence[float], second: Sequence[float], clusters: Sequence[str]) -> PairedScore:
    changes = [after - before for before, after in zip(first, second, strict=True)]
    return PairedScore(first=fmean(first), second=fmean(second), difference=clustered_mean(changes, clusters))


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
