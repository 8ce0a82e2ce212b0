"""Report of an evaluation: all figures of its records as data, and as a document with tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.document import Document, Table
from agentevol.loop.report.evaluations.losses import Loss, LossClass, losses
from agentevol.loop.report.evaluations.pass_rates import outcomes_of, pass_rates
from agentevol.loop.report.evaluations.performance import (
    CostFigures,
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
    pass_rates_by: dict[str, dict[str, dict[str, MeanScore]]]
    """Breakdown -> group -> the same; groups without a repeated task are left out."""
    losses: dict[LossClass, Loss]
    """Lost episodes by class."""
    reasons: list[Reason]
    """Endings of the episodes that were not won."""
    figures: EvaluationFigures


def report_of(records: Sequence[EvaluationRecord], by: Iterable[Group] = ()) -> EvaluationReport:
    """The report of an evaluation with at least one record; `by` are groups whose scores in dimensions are
    wanted.
    """
    own = [one for one in records if one.role == "policy"]
    groups = breakdowns(records)
    return EvaluationReport(
        settings={name: _distinct(getattr(one, name) for one in own) for name in SHARED},
        performance=performance(records),
        by={name: {one: performance(found) for one, found in by.items()} for name, by in groups.items()},
        pass_rates=pass_rates(outcomes_of(records)),
        pass_rates_by={name: found for name, by in groups.items() if (found := _repeated(by))},
        losses=losses(records),
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
        yield Table(f"By {_told_breakdown(name)}", "", *performance_rows(_told_breakdown(name), groups))
    yield Table("Repeated episodes", PASS_NOTE, ["k", *_PASSED], list(_passes(report.pass_rates)))
    for name, groups in report.pass_rates_by.items():
        title = _told_breakdown(name)
        rows = [[group, *row] for group, rates in groups.items() for row in _passes(rates)]
        yield Table(f"Repeated episodes by {title}", "", [title, "k", *_PASSED], rows)
    yield Table("Why episodes were lost", LOSS_NOTE, *loss_rows(report.losses))
    note = "Share of all episodes. Failed episodes have no return, and are in no mean."
    rows = [
        [one.reason, f"{one.episodes:,}", share_text(one.share), one.example, one.detail]
        for one in report.reasons
    ]
    yield Table(
        "How episodes ended that were not won",
        note,
        ["ending", "episodes", "share", "first task", "detail"],
        rows,
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


PASS_NOTE = (
    "pass^k: the probability that k episodes of a task all succeed (arXiv:2406.12045). pass@k: that at"
    " least one of k succeeds (arXiv:2107.03374). Tasks with fewer than k episodes are in no mean."
)
LOSS_NOTE = (
    "Of several causes that hold, the first in this order: the context was full; 3 invalid actions in a"
    " row; 3 turns in the same state; the environment ended the episode as a loss; an agent left; a limit,"
    " after some reward or without any. Shares are of all episodes with a return."
)


def _told_breakdown(name: str) -> str:
    """Name of a breakdown in tables."""
    return "task type" if name == "kind" else name.replace("kind", "task type")


def performance_rows(title: str, groups: Mapping[str, Performance]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: counts, then each measure with its interval, and costs that any group has."""
    costs = sorted({name for found in groups.values() for name in found.costs})
    header = [title, *_COLUMNS, *(column for name in costs for column in (f"cost {name}", f"{name} > 0"))]
    return header, [[group, *_row(found, costs)] for group, found in groups.items()]


def loss_rows(found: Mapping[LossClass, Loss]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: a class of lost episodes each."""
    rows = [
        [name, f"{one.episodes:,}", share_text(one.share.mean), percent_interval(one.share), one.examples[0]]
        for name, one in found.items()
    ]
    return ["class", "episodes", "share", "95 % interval", "first episode"], rows


def pass_rows(rates: Mapping[str, MeanScore]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: a number k each."""
    return ["k", *_PASSED], list(_passes(rates))


_MEASURED = ("measure", "mean", "95 % interval", "episodes", "clusters")


def _measures(found: Performance) -> Iterator[list[str]]:
    yield _share("success", found.success)
    yield _mean("reward", found.reward, ".3f")
    yield _mean("turns", found.turns, ".1f")
    yield _mean("tokens", found.tokens, ".1f")
    yield _share("invalid actions", found.invalid_actions)
    for name, cost in found.costs.items():
        yield _mean(f"cost {name}", cost.mean, ".3f")
        yield _share(f"{name} > 0", cost.violations)


def _share(name: str, score: MeanScore) -> list[str]:
    return [name, share_text(score.mean), percent_interval(score), *_counts(score)]


def _mean(name: str, score: MeanScore, pattern: str) -> list[str]:
    return [name, mean_text(score.mean, pattern), _interval(score, pattern), *_counts(score)]


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


def _row(found: Performance, costs: Sequence[str]) -> list[str]:
    known = [found.costs.get(name, CostFigures(mean=MeanScore(), violations=MeanScore())) for name in costs]
    return [
        f"{found.tasks:,}",
        f"{found.episodes:,}",
        share_text(found.success.mean),
        percent_interval(found.success),
        _with_interval(found.reward, ".3f"),
        _with_interval(found.turns, ".1f"),
        _with_interval(found.tokens, ".1f"),
        _share_with_interval(found.invalid_actions),
        f"{found.failed:,}",
        *(
            cell
            for one in known
            for cell in (_with_interval(one.mean, ".3f"), _share_with_interval(one.violations))
        ),
    ]


def _with_interval(score: MeanScore, pattern: str) -> str:
    """`0.512 (0.401 to 0.623)`, or the mean alone where there is no interval."""
    told = mean_text(score.mean, pattern)
    return told if score.low is None else f"{told} ({_interval(score, pattern)})"


def _share_with_interval(score: MeanScore) -> str:
    told = share_text(score.mean)
    return told if score.low is None else f"{told} ({percent_interval(score)})"


_PASSED = ("pass^k", "95 % interval", "pass@k", "95 % interval", "tasks")


def _passes(rates: Mapping[str, MeanScore]) -> Iterator[list[str]]:
    for k in range(1, len(rates) // 2 + 1):
        hat, at = rates[f"pass^{k}"], rates[f"pass@{k}"]
        shown = [cell for one in (hat, at) for cell in (share_text(one.mean), percent_interval(one))]
        yield [f"{k}", *shown, f"{hat.n:,}"]


def _repeated(groups: Mapping[str, Sequence[EvaluationRecord]]) -> dict[str, dict[str, MeanScore]]:
    found = {name: pass_rates(outcomes_of(records)) for name, records in groups.items()}
    return {name: rates for name, rates in found.items() if rates}


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
