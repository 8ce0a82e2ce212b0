"""Report of an evaluation: all figures of its records as data, and as a document with tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.document import Document, Table
from agentevol.loop.report.evaluations.pass_rates import outcomes_of, pass_rates
from agentevol.loop.report.evaluations.performance import (
    Performance,
    Reason,
    breakdowns,
    performance,
    reasons,
)
from agentevol.loop.report.evaluations.records import EvaluationRecord
from agentevol.loop.report.evaluations.summary import EvaluationFigures, Group, figures_of
from agentevol.loop.report.evaluations.tables import group_rows, lines, score_rows
from agentevol.loop.report.rates import mean_text, share_text
from agentgym_envs.core import Record

SHARED = ("model", "partner", "action_format", "temperature", "env", "env_version", "data_version")
SHARED += ("options", "max_turns", "split")
"""Members of a record that the report has as settings: each with its distinct values."""


class EvaluationReport(Record):
    """Figures of an evaluation."""

    format: Literal["agentevol.evaluation-report/1"] = "agentevol.evaluation-report/1"
    settings: dict[str, list[Any]]
    """Model, environment, split, ... -> its distinct values in the records of the policy."""
    performance: Performance
    by: dict[str, dict[str, Performance]]
    """Breakdown (`kind`, `difficulty`, `kind and difficulty`, `seat`) -> group -> performance."""
    pass_rates: dict[str, MeanScore]
    """`pass^k` and `pass@k` by name; empty if no task was repeated."""
    reasons: list[Reason]
    """Reasons for which episodes were not won."""
    figures: EvaluationFigures


def report_of(records: Sequence[EvaluationRecord], by: Iterable[Group] = ()) -> EvaluationReport:
    """The report of an evaluation with at least one record; `by` are groups whose scores in dimensions are
    wanted.
    """
    own = [one for one in records if one.role == "policy"]
    return EvaluationReport(
        settings={name: _distinct(getattr(one, name) for one in own) for name in SHARED},
        performance=performance(records),
        by=breakdowns(records),
        pass_rates=pass_rates(outcomes_of(records)),
        reasons=reasons(records),
        figures=figures_of(records, by),
    )


def document_of(report: EvaluationReport) -> Document:
    """The report as tables."""
    named = {name: ", ".join(map(_text, values)) for name, values in report.settings.items()}
    partner = named["partner"] if named["partner"] not in ("", "self") else ""
    beside = f", beside {partner}" if partner else ""
    return Document(
        named["model"],
        f"on {named['env']}/{named['split']}{beside}",
        headline(report.performance),
        list(_tables(report, partner)),
        notes=list(lines(report.figures)),
        configuration=[[name.replace("_", " "), value] for name, value in named.items() if value],
    )


def success_intervals(report: EvaluationReport) -> dict[str, str]:
    """Intervals of success as text, of all episodes (`all`) and by group; {} where no task was repeated,
    and none of a group that has no episode with a return.
    """
    if not report.pass_rates:
        return {}
    groups = [("all", report.performance), *(one for by in report.by.values() for one in by.items())]
    return {name: percent_interval(found.success) for name, found in groups if found.episodes}


def headline(found: Performance) -> str:
    """`Success is 45.0 % (95 % interval 38.3 – 51.9 %) in 200 episodes of 50 tasks.`."""
    if not found.episodes:
        return "No episode has a return."
    tasks = f"{found.tasks:,} task{'s' * (found.tasks != 1)}"
    episodes = f"{found.episodes:,} episode{'s' * (found.episodes != 1)}"
    return (
        f"Success is {share_text(found.success.mean)} (95 % interval {percent_interval(found.success)}) in"
        f" {episodes} of {tasks}, and the mean return {mean_text(found.reward.mean, '.3f')}."
    )


def percent_interval(score: MeanScore) -> str:
    """`38.3 – 51.9 %`, or a dash where there is none."""
    return (
        "–"
        if score.low is None or score.high is None
        else f"{100 * score.low:.1f} – {100 * score.high:.1f} %"
    )


def _tables(report: EvaluationReport, partner: str) -> Iterator[Table]:
    note = (
        "Over the episodes that have a return. Intervals are clustered by scenario, or else by task; that of"
        " success is Wilson's where each task was played once. Invalid actions are those that the environment"
        " could not carry out, of all actions."
    )
    yield Table("All episodes", note, _MEASURED, list(_measures(report.performance)))
    for name, groups in report.by.items():
        title = "task type" if name == "kind" else name.replace("kind", "task type")
        rows = [[group, *_row(found)] for group, found in groups.items()]
        yield Table(f"By {title}", "", [title, *_COLUMNS], rows)
    note = (
        "pass^k: the probability that k episodes of a task all succeed (arXiv:2406.12045). pass@k: that at"
        " least one of k succeeds (arXiv:2107.03374). Tasks with fewer than k episodes are in no mean."
    )
    yield Table("Repeated episodes", note, ["k", *_PASSED], list(_passes(report.pass_rates)))
    note = "Share of all episodes. Failed episodes have no return, and are in no mean."
    rows = [
        [one.reason, f"{one.episodes:,}", share_text(one.share), one.example, one.detail]
        for one in report.reasons
    ]
    yield Table(
        "Why episodes were not won", note, ["ending", "episodes", "share", "first task", "detail"], rows
    )
    yield from _scores(report.figures, partner)


def _scores(figures: EvaluationFigures, partner: str) -> Iterator[Table]:
    """Scores of environments that tell dimensions."""
    if not figures.scores:
        return
    header, rows = score_rows(figures, partner)
    yield Table("Scores by dimension", "A dimension that was not scored is in no mean.", header, rows)
    for group, values in figures.by.items():
        yield Table(f"Scores by {group}", "", *group_rows(group, values))


_MEASURED = ("measure", "mean", "95 % interval", "episodes", "clusters")


def _measures(found: Performance) -> Iterator[list[str]]:
    yield [
        "success",
        share_text(found.success.mean),
        percent_interval(found.success),
        *_counts(found.success),
    ]
    for name, score, pattern in (
        ("reward", found.reward, ".3f"),
        ("turns", found.turns, ".1f"),
        ("tokens", found.tokens, ".1f"),
    ):
        yield [name, mean_text(score.mean, pattern), _interval(score, pattern), *_counts(score)]
    invalid = found.invalid_actions
    yield ["invalid actions", share_text(invalid.mean), percent_interval(invalid), *_counts(invalid)]


_COLUMNS = (
    "tasks",
    "episodes",
    "success",
    "95 % interval",
    "reward",
    "turns",
    "tokens",
    "invalid actions",
    "failed",
)


def _row(found: Performance) -> list[str]:
    return [
        f"{found.tasks:,}",
        f"{found.episodes:,}",
        share_text(found.success.mean),
        percent_interval(found.success),
        mean_text(found.reward.mean, ".3f"),
        mean_text(found.turns.mean, ".1f"),
        mean_text(found.tokens.mean, ".1f"),
        share_text(found.invalid_actions.mean),
        f"{found.failed:,}",
    ]


_PASSED = ("pass^k", "95 % interval", "pass@k", "95 % interval", "tasks")


def _passes(rates: Mapping[str, MeanScore]) -> Iterator[list[str]]:
    for k in range(1, len(rates) // 2 + 1):
        hat, at = rates[f"pass^{k}"], rates[f"pass@{k}"]
        shown = [cell for one in (hat, at) for cell in (share_text(one.mean), percent_interval(one))]
        yield [f"{k}", *shown, f"{hat.n:,}"]


def _counts(score: MeanScore) -> tuple[str, str]:
    return f"{score.n:,}", f"{score.clusters:,}"


def _interval(score: MeanScore, pattern: str) -> str:
    if score.low is None or score.high is None:
        return "–"
    return f"{score.low:{pattern}} to {score.high:{pattern}}"


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    return "" if value is None else str(value)
