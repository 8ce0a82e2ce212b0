"""Report of an evaluation suite as data: a report of each part, models in pairs, losses and ratings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agentevol.loop.report.evaluations.evaluation_report import EvaluationReport, report_of
from agentevol.loop.report.evaluations.losses import LossClass
from agentevol.loop.report.evaluations.model_comparison import (
    ModelComparison,
    Named,
    check_settings,
    model_comparison,
)
from agentevol.loop.report.evaluations.paired import PairedScore, paired_losses
from agentevol.loop.report.evaluations.performance import Performance, grouped, performance
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.suites.ratings import RatingAgreement, rating_agreement
from agentevol.loop.report.suites.sampling import Sampled
from agentgym_envs.core import Record
from agentgym_store.feedback.records import Feedback

NONE = "–"
"""Task type or difficulty of tasks that have none."""


@dataclass(frozen=True)
class Content:
    """Content of a suite's folder."""

    config: Mapping[str, Any]
    """The resolved suite."""
    records: Mapping[str, Named]
    """Environment -> model -> records."""
    sample: Sequence[str] = ()
    """Ids of the episodes that people shall rate."""
    opinions: Sequence[Feedback] = field(default_factory=list[Feedback])
    """Opinions that stand."""


class Cell(Record):
    """Performance of a model on the tasks of one type and difficulty."""

    environment: str
    model: str
    kind: str
    difficulty: str
    performance: Performance


class LossChange(Record):
    """Shares of lost episodes of a model against those of the first model of the suite."""

    environment: str
    first: str
    second: str
    losses: dict[LossClass, PairedScore]


class SuiteReport(Record):
    """Figures of a suite."""

    format: Literal["agentevol.suite-report/1"] = "agentevol.suite-report/1"
    suite: dict[str, Any]
    """The resolved suite."""
    parts: dict[str, dict[str, EvaluationReport]]
    """Environment -> model -> report."""
    cells: list[Cell]
    """Environment x task type x difficulty, for each model."""
    comparison: ModelComparison
    loss_changes: list[LossChange]
    ratings: list[RatingAgreement]
    sample: list[str]
    """Ids of the episodes that people shall rate."""


def suite_report(content: Content) -> SuiteReport:
    """The report of a suite whose parts all have records. Raises `ConfigError` where models did not play
    equal tasks, seeds and settings.
    """
    for models in content.records.values():
        check_settings(models)
    return SuiteReport(
        suite=dict(content.config),
        parts={
            environment: {model: report_of(records) for model, records in models.items()}
            for environment, models in content.records.items()
        },
        cells=[cell for name, models in content.records.items() for cell in _cells(name, models)],
        comparison=model_comparison(content.records),
        loss_changes=[
            change for name, models in content.records.items() for change in _changes(name, models)
        ],
        ratings=rating_agreement(content.opinions, outcomes(every_record(content.records))),
        sample=list(content.sample),
    )


def every_record(records: Mapping[str, Named]) -> list[EvaluationRecord]:
    """Records of all parts."""
    return [one for models in records.values() for found in models.values() for one in found]


def outcomes(records: Iterable[EvaluationRecord]) -> dict[str, bool]:
    """Id of each episode of the policy that has a return -> whether it was won."""
    return {one.id: one.succeeded for one in records if one.role == "policy" and one.reward is not None}


def samples(records: Mapping[str, Named]) -> list[Sampled]:
    """Episodes that can be drawn for people to rate."""
    return [
        Sampled(name, won, f"{environment}/{model}")
        for environment, models in records.items()
        for model, found in models.items()
        for name, won in outcomes(found).items()
    ]


def _cells(environment: str, models: Named) -> list[Cell]:
    found: list[Cell] = []
    for model, records in models.items():
        for kind, of_kind in grouped(records, lambda one: one.kind or NONE).items():
            for level, group in grouped(of_kind, lambda one: one.difficulty or NONE).items():
                names = {"environment": environment, "model": model, "kind": kind, "difficulty": level}
                found.append(Cell(**names, performance=performance(group)))
    return found


def _changes(environment: str, models: Named) -> list[LossChange]:
    (first, records), *others = models.items()
    found = [
        LossChange(environment=environment, first=first, second=name, losses=paired_losses(records, theirs))
        for name, theirs in others
    ]
    return [one for one in found if one.losses]
