"""Report of an evaluation suite as a document."""

from collections.abc import Iterator, Sequence

from agentevol.config.files.settings import flattened
from agentevol.loop.report.document import Document, Table
from agentevol.loop.report.evaluations.evaluation_report import (
    LOSS_NOTE,
    PASS_NOTE,
    EvaluationReport,
    loss_rows,
    pass_rows,
    performance_rows,
)
from agentevol.loop.report.evaluations.model_comparison import comparison_tables, headline
from agentevol.loop.report.evaluations.tables import paired_rows, score_rows
from agentevol.loop.report.examples import Example, shown
from agentevol.loop.report.rates import mean_text, share_text
from agentevol.loop.report.suites.ratings import RatingAgreement
from agentevol.loop.report.suites.suite_report import SuiteReport

ALL = "all"
"""Group of all tasks of an environment."""


def suite_document(found: SuiteReport, examples: Sequence[Example] = ()) -> Document:
    """The report as tables; `examples` are shown in HTML only."""
    models = list(dict.fromkeys(model for parts in found.parts.values() for model in parts))
    return Document(
        str(found.suite["name"]),
        f"{_count(len(models), 'model')} in {_count(len(found.parts), 'environment')}",
        _headline(found, len(models)),
        list(_tables(found)),
        notes=list(_notes(found)),
        examples=[shown(one) for one in examples],
        configuration=[[key, value] for key, value in flattened(found.suite)],
    )


def _headline(found: SuiteReport, models: int) -> str:
    reports = [report for _, _, report in _parts(found)]
    scored = sum(report.performance.episodes for report in reports)
    failed = sum(report.performance.failed for report in reports)
    told = f"{_count(scored, 'episode')} with a return, {failed:,} failed."
    return f"{told} {headline(found.comparison)}" if models > 1 else told


def _notes(found: SuiteReport) -> Iterator[str]:
    for environment, model, report in _parts(found):
        missing = report.figures.episodes - report.figures.played
        if missing:
            yield f"{environment}, {model}: {missing:,} requested episodes are missing"
        for cause, count in report.figures.failures.items():
            yield f"{environment}, {model}: {count:,} episodes failed: {cause}"
    if found.sample:
        yield (
            f"{_count(len(found.sample), 'episode')} for people to rate are in the table sample/ beside this"
            " report: agentevol ui sample, or agentevol feedback add sample EPISODE --as human:NAME --score 4"
        )


def _tables(found: SuiteReport) -> Iterator[Table]:
    yield from comparison_tables(found.comparison)
    yield from _cells(found)
    yield Table("Repeated episodes", PASS_NOTE, *_passes(found), 3)
    yield Table("Why episodes were lost", LOSS_NOTE, *_losses(found), 3)
    yield Table(
        "Why episodes were lost, against the first model",
        "Differences of shares, paired by task and seat.",
        *_loss_changes(found),
        3,
    )
    yield Table("How episodes ended", "", *_endings(found), 2)
    for environment, model, report in _parts(found):
        if report.figures.scores:
            yield Table(f"Scores of {model} in {environment}", "", *score_rows(report.figures, ""))
    note = (
        "A rating above the middle of its scale says that the episode was won, one below that it was lost."
        " Cohen's kappa: 1 is agreement with the outcomes, 0 that of chance."
    )
    yield Table("Ratings of people beside outcomes", note, _RATED, [_rating(one) for one in found.ratings])


def _cells(found: SuiteReport) -> Iterator[Table]:
    """A table for each environment that has several types or levels of tasks."""
    for environment in found.parts:
        cells = [one for one in found.cells if one.environment == environment]
        if len({(one.kind, one.difficulty) for one in cells}) > 1:
            cells.sort(key=lambda one: (one.kind, one.difficulty))  # the models keep their order
            groups = {f"{one.kind}, {one.difficulty}: {one.model}": one.performance for one in cells}
            header, rows = performance_rows("task type, difficulty: model", groups)
            yield Table(f"{environment} by task type and difficulty", "", header, rows)


def _passes(found: SuiteReport) -> tuple[list[str], list[list[str]]]:
    rows: list[list[str]] = []
    for environment, model, report in _parts(found):
        rows += [[environment, model, ALL, *row] for row in pass_rows(report.pass_rates)[1]]
        for breakdown in ("kind", "difficulty"):  # JSON has both together, and all k
            by = report.pass_rates_by.get(breakdown, {})
            for group, rates in by.items() if len(by) > 1 else ():
                rows.append([environment, model, group, *pass_rows(rates)[1][-1]])
    return ["environment", "model", "tasks of", *pass_rows({})[0]], rows


def _losses(found: SuiteReport) -> tuple[list[str], list[list[str]]]:
    rows = [
        [environment, model, *row]
        for environment, model, report in _parts(found)
        for row in loss_rows(report.losses)[1]
    ]
    return ["environment", "model", *loss_rows({})[0]], rows


def _loss_changes(found: SuiteReport) -> tuple[list[str], list[list[str]]]:
    rows = [
        [one.environment, f"{one.second} – {one.first}", *row]
        for one in found.loss_changes
        for row in paired_rows(one.losses)[1]
    ]
    return ["environment", "models", "class", *paired_rows({})[0][1:]], rows


def _endings(found: SuiteReport) -> tuple[list[str], list[list[str]]]:
    names = sorted({name for _, _, report in _parts(found) for name in report.figures.endings})
    rows = [
        [
            environment,
            model,
            *(f"{report.figures.endings.get(name, 0):,}" for name in names),
            f"{report.figures.agents:,}",
        ]
        for environment, model, report in _parts(found)
    ]
    return ["environment", "model", *names, "all"], rows


_RATED = ("person", "episodes", "undecided", "rated won", "won", "agreed", "kappa", "95 % interval")


def _rating(one: RatingAgreement) -> list[str]:
    kappa = one.kappa
    interval = "–" if kappa.low is None or kappa.high is None else f"{kappa.low:.2f} to {kappa.high:.2f}"
    return [
        one.rater,
        f"{kappa.n:,}",
        f"{one.undecided:,}",
        *(share_text(share) for share in (one.rated_won, one.won, kappa.agreed)),
        mean_text(kappa.kappa, ".2f"),
        interval,
    ]


def _parts(found: SuiteReport) -> Iterator[tuple[str, str, EvaluationReport]]:
    for environment, models in found.parts.items():
        for model, report in models.items():
            yield environment, model, report


def _count(number: int, name: str) -> str:
    return f"{number:,} {name}{'s' * (number != 1)}"
