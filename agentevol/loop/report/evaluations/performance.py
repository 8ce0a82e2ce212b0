"""Performance of a policy on groups of tasks: success, return, turns, tokens, invalid actions and costs, each
with its interval, and the reasons for which episodes were not won.

All means are over the episodes that have a return. Their intervals are clustered by scenario, or else by
task, so that repeats of a task, and the seats of an episode, do not count as independent.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.proportions import clustered_proportion, within_unit
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.rollout.dimensions.clusters import clustered_mean, linearised
from agentgym_envs.core import Record

SUCCESS = "success"
MEASURES: Mapping[str, Callable[[EvaluationRecord], float | None]] = {
    SUCCESS: lambda record: float(record.succeeded),
    "reward": lambda record: record.reward,
    "turns": lambda record: float(record.turns),
    "tokens": lambda record: record.tokens,
}
"""Measures of a scored episode by name; None where it is not known."""
INVALID = "invalid actions"
"""Name of the share of actions that the environment could not carry out."""


class CostFigures(Record):
    """A cost that the environment reports of its turns."""

    mean: MeanScore
    """Of the sum over an episode; episodes in which it was not judged are left out."""
    violations: MeanScore
    """Share of episodes in which it is above 0."""


class Performance(Record):
    """Performance on a group of tasks."""

    tasks: int
    """Number of distinct tasks that were scored or failed."""
    episodes: int
    """Episodes that have a return, each seat of the policy by itself."""
    failed: int
    """Episodes without a return: failed or cancelled."""
    success: MeanScore
    reward: MeanScore
    turns: MeanScore
    tokens: MeanScore
    """Sampled tokens of an episode; `n` is 0 where they are not known."""
    invalid_actions: MeanScore
    """Invalid actions among all actions: a ratio of sums. `n` are episodes with an action."""
    costs: dict[str, CostFigures] = Field(default_factory=dict[str, CostFigures])
    """By name; empty where the environment reports none."""


class Reason(Record):
    """A reason for which episodes were not won."""

    reason: str
    """Ending, with the environment's own reasons: `truncated(max_turns)`, `terminated: left`,
    `failed(judge)`; `terminated` alone is an end that the environment counts as a loss.
    """
    episodes: int
    share: float
    """Of all episodes of the policy, won ones included."""
    example: str
    """Task of the first such episode."""
    detail: str = ""
    """Detail that was told of a failure."""


def performance(records: Iterable[EvaluationRecord]) -> Performance:
    """Performance in these records; those of partners are left out."""
    own = [one for one in records if one.role == "policy"]
    scored = [one for one in own if one.reward is not None]
    means = {name: measured(scored, measure) for name, measure in MEASURES.items() if name != SUCCESS}
    return Performance(
        tasks=len({one.task for one in own}),
        episodes=len(scored),
        failed=len(own) - len(scored),
        success=clustered_proportion(
            [float(one.succeeded) for one in scored], [one.scenario for one in scored]
        ),
        **means,
        invalid_actions=_invalid(scored),
        costs=_costs(scored),
    )


def grouped(
    records: Iterable[EvaluationRecord], group: Callable[[EvaluationRecord], str]
) -> dict[str, list[EvaluationRecord]]:
    """Records of the policy by group, sorted by name; those whose group is empty are in none."""
    groups: dict[str, list[EvaluationRecord]] = defaultdict(list)
    for one in records:
        if one.role == "policy" and group(one):
            groups[group(one)].append(one)
    return dict(sorted(groups.items()))


def breakdowns(records: Sequence[EvaluationRecord]) -> dict[str, dict[str, list[EvaluationRecord]]]:
    """Records of the policy by `kind`, `difficulty`, both together and `seat`; a breakdown of fewer than two
    groups is left out, except by kind and by difficulty.
    """
    kinds, levels = grouped(records, lambda one: one.kind), grouped(records, lambda one: one.difficulty)
    found = {"kind": kinds, "difficulty": levels}
    if len(kinds) > 1 and len(levels) > 1:
        found["kind and difficulty"] = grouped(
            records, lambda one: f"{one.kind}, {one.difficulty}" if one.kind and one.difficulty else ""
        )
    seats = grouped(records, lambda one: "" if one.seat is None else f"seat {one.seat}")
    if len(seats) > 1:
        found["seat"] = seats
    return {name: groups for name, groups in found.items() if groups}


def reasons(records: Iterable[EvaluationRecord]) -> list[Reason]:
    """Reasons of all episodes that were not won, the most frequent first."""
    own = [one for one in records if one.role == "policy"]
    lost = [one for one in own if not one.succeeded]
    counts = Counter(map(_reason, lost))
    first = {_reason(one): one for one in reversed(lost)}
    return [
        Reason(
            reason=reason,
            episodes=count,
            share=count / len(own),
            example=first[reason].task,
            detail=first[reason].detail,
        )
        for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def measured(
    scored: Sequence[EvaluationRecord], measure: Callable[[EvaluationRecord], float | None]
) -> MeanScore:
    """Mean of a measure over the episodes for which it is known."""
    known = [(value, one.scenario) for one in scored if (value := measure(one)) is not None]
    return clustered_mean([value for value, _ in known], [cluster for _, cluster in known])


def _invalid(scored: Sequence[EvaluationRecord]) -> MeanScore:
    known = [one for one in scored if one.invalid_actions is not None and one.turns]
    if not known:
        return MeanScore()
    values = linearised([one.invalid_actions or 0 for one in known], [one.turns for one in known])
    return within_unit(clustered_mean(values, [one.scenario for one in known]))


def _costs(scored: Sequence[EvaluationRecord]) -> dict[str, CostFigures]:
    """Figures by name; an episode that does not name a cost has none of it."""
    found: dict[str, CostFigures] = {}
    for name in sorted({name for one in scored for name in one.costs}):
        told = [(one.costs.get(name, 0.0), one.scenario) for one in scored]
        known = [(cost, cluster) for cost, cluster in told if cost is not None]
        costs, clusters = [cost for cost, _ in known], [cluster for _, cluster in known]
        above = [float(cost > 0) for cost in costs]
        found[name] = CostFigures(
            mean=clustered_mean(costs, clusters), violations=clustered_proportion(above, clusters)
        )
    return found


def _reason(record: EvaluationRecord) -> str:
    told = ", ".join(record.end_reasons)
    return f"{record.ending}: {told}" if told else record.ending
