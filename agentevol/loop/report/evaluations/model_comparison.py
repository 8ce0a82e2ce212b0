"""Comparison of several models with each other, on equal tasks and seeds.

All pairs of models are compared by success and by return, each with a paired test. With m comparisons of one
measure, some of them are below 5 % by chance alone: Holm's correction is over all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import MeanScore
from agentevol.loop.report.document import Document, Table
from agentevol.loop.report.evaluations.evaluation_report import performance_rows
from agentevol.loop.report.evaluations.paired import PairedTest, differing, paired_test
from agentevol.loop.report.evaluations.performance import SUCCESS, Performance, performance
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.hypothesis_tests import holm
from agentgym_envs.core import Record

COMPARED = (SUCCESS, "reward")
"""Measures by which models are compared."""
Named = Mapping[str, Sequence[EvaluationRecord]]
"""Records by model."""
NOTE = (
    "The second model minus the first, on the same tasks with the same seeds, after repeats of a task were"
    " averaged; tasks of which one has no return are in no pair. p: randomization test of the signs of the"
    " clusters' differences, two-sided; where each task was played once, of success McNemar's exact test."
    " Holm: p with Holm's correction over all rows of the table."
)


class ModelPair(Record):
    """Two models in one environment."""

    environment: str
    """Name of the environment in the comparison; empty where there is one only."""
    first: str
    second: str
    score: PairedTest
    p_holm: float
    """p-value with Holm's correction over all pairs of this measure."""


class ModelComparison(Record):
    """All pairs of models."""

    performance: dict[str, dict[str, Performance]]
    """Environment -> model -> performance."""
    pairs: dict[str, list[ModelPair]]
    """Measure -> pairs, by environment."""


def check_equal_tasks(models: Named) -> None:
    """Raise `ConfigError` unless all models played the same tasks, seats and repeats with the same seeds."""
    (first, records), *others = models.items()
    ones = _played(records)
    for name, theirs in others:
        found = _played(theirs)
        apart = [key for key in {**ones, **found} if ones.get(key) != found.get(key)]
        if apart:
            raise ConfigError(
                f"{first} and {name} did not play equal tasks and seeds: {len(apart):,} of"
                f" {len({**ones, **found}):,} episodes differ, the first of task {apart[0][0]!r}"
            )


def model_comparison(environments: Mapping[str, Named]) -> ModelComparison:
    """Compare at least two models in each environment. Raises `ConfigError` for unequal tasks or seeds."""
    for models in environments.values():
        check_equal_tasks(models)
    return ModelComparison(
        performance={
            name: {model: performance(records) for model, records in models.items()}
            for name, models in environments.items()
        },
        pairs={measure: _pairs(environments, measure) for measure in COMPARED},
    )


def check_settings(models: Named) -> None:
    """Raise `ConfigError` where two evaluations differ in more than the model and its sampling. One without
    a return tells too little.
    """
    scored = {name: records for name, records in models.items() if _is_scored(records)}
    for (first, ones), (second, others) in combinations(scored.items(), 2):
        apart = differing(ones, others)
        if apart:
            told = "; ".join(f"{setting}: {one} and {another}" for setting, (one, another) in apart.items())
            raise ConfigError(f"{first} and {second} differ in {told}")


def comparison_tables(found: ModelComparison) -> Iterator[Table]:
    """Performance of the models, and a table of all pairs for each measure; not of returns that are all 0 or
    1, which is success.
    """
    for environment, models in found.performance.items():
        of = f" in {environment}" if environment else ""
        yield Table(f"Models{of}", "", *performance_rows("model", models))
    for measure, pairs in found.pairs.items():
        if measure == SUCCESS or not _says_the_same(pairs, found.pairs[SUCCESS]):
            texts = 3 if any(one.environment for one in pairs) else 2
            yield Table(f"Models by {measure}, in pairs", NOTE, *_rows(pairs), texts)


def pairwise_document(found: ModelComparison) -> Document:
    """The comparison as a report of its own."""
    models = list(next(iter(found.performance.values())))
    return Document(
        "Comparison of models", ", ".join(models), headline(found), list(comparison_tables(found))
    )


def headline(found: ModelComparison) -> str:
    """`3 of 6 differences in success are below 5 % after Holm's correction.`."""
    pairs = found.pairs[SUCCESS]
    clear = sum(one.p_holm < 0.05 for one in pairs)
    verb = "is" if clear == 1 else "are"
    return (
        f"{clear} of {len(pairs)} differences in success {verb} significant at 5 % after Holm's correction."
    )


def _says_the_same(pairs: Sequence[ModelPair], successes: Sequence[ModelPair]) -> bool:
    return [one.score for one in pairs] == [one.score for one in successes]


def _pairs(environments: Mapping[str, Named], measure: str) -> list[ModelPair]:
    found = [
        (environment, first, second, score)
        for environment, models in environments.items()
        for first, second in combinations(models, 2)
        if (score := paired_test(models[first], models[second], measure)) is not None
    ]
    adjusted = holm([score.p for *_, score in found])
    return [
        ModelPair(environment=environment, first=first, second=second, score=score, p_holm=p)
        for (environment, first, second, score), p in zip(found, adjusted, strict=True)
    ]


def _rows(pairs: Sequence[ModelPair]) -> tuple[list[str], list[list[str]]]:
    named = any(one.environment for one in pairs)
    header = [
        "first",
        "second",
        "first mean",
        "second mean",
        "difference",
        "95 % interval",
        "p",
        "Holm",
        "pairs",
    ]
    rows = [
        [
            *([one.environment] if named else []),
            *(one.first, one.second, f"{one.score.first:.3f}", f"{one.score.second:.3f}"),
            *(f"{one.score.second - one.score.first:+.3f}", _signed(one.score.difference)),
            *(p_text(one.score.p), p_text(one.p_holm), f"{one.score.difference.n:,}"),
        ]
        for one in pairs
    ]
    return ["environment", *header] if named else header, rows


def p_text(p: float) -> str:
    """`0.031`, or `< 0.001`."""
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def _signed(score: MeanScore) -> str:
    return "–" if score.low is None or score.high is None else f"{score.low:+.3f} to {score.high:+.3f}"


def _is_scored(records: Sequence[EvaluationRecord]) -> bool:
    return any(one.role == "policy" and one.reward is not None for one in records)


def _played(records: Sequence[EvaluationRecord]) -> dict[tuple[str, int | None, int], int]:
    """Seeds of the policy's episodes by task, seat and repeat."""
    return {(one.task, one.seat, one.attempt): one.seed for one in records if one.role == "policy"}
