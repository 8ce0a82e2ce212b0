"""Rows of the list of runs and tables."""

from dataclasses import dataclass
from pathlib import Path

from agentevol.core.errors import AgentEvolError
from agentevol.core.summaries import IterationSummary, RunSummary, best
from agentevol.loop.report.rates import interval_text, rate_text
from agentevol.loop.state.progress_file import NAME
from agentevol.ui.library import Source
from agentevol.ui.pages import address
from agentevol.ui.runs.curves import Curve, success_curve
from agentevol.ui.runs.live import LiveView, live_view
from agentevol.ui.runs.summaries import summary_of
from agentgym_store.errors import StoreError


@dataclass(frozen=True)
class RunRow:
    """One line of the list."""

    key: str
    name: str
    href: str
    changed: float
    """Unix time of the last change."""
    environment: str = ""
    iterations: str = ""
    """Finished and planned ones: `2 of 5`."""
    first: str = ""
    best: str = ""
    interval: str = ""
    live: LiveView | None = None
    curve: Curve | None = None
    problem: str = ""
    """Reason for which the run cannot be read."""


@dataclass(frozen=True)
class TableRow:
    """A table that belongs to no run."""

    name: str
    href: str


def run_rows(sources: list[Source]) -> list[RunRow]:
    """Rows of the runs, the last changed first."""
    rows = [
        _row(source, source.place) for source in sources if isinstance(source.place, Path) and source.is_run
    ]
    return sorted(rows, key=lambda row: row.changed, reverse=True)


def table_rows(sources: list[Source]) -> list[TableRow]:
    """Rows of the tables."""
    return [TableRow(one.name, address("runs", one.key)) for one in sources if not one.is_run]


def _row(source: Source, folder: Path) -> RunRow:
    href = address("runs", source.key)
    changed = max((_time(folder / name) for name in (NAME, "iterations", "config.toml")), default=0.0)
    try:
        summary = summary_of(folder)
    except (AgentEvolError, StoreError, OSError, ValueError) as cause:
        return RunRow(source.key, source.name, href, changed, problem=" ".join(str(cause).split()))
    first = next((one for one in summary.iterations if one.evaluation and one.evaluation.n), None)
    leader = best(summary)
    return RunRow(
        source.key,
        source.name,
        href,
        changed,
        environment=summary.environment,
        iterations=_iterations(summary),
        first=_success(first),
        best=_success(leader),
        interval=_interval(leader),
        live=live_view(folder),
        curve=success_curve(summary, small=True),
    )


def _iterations(summary: RunSummary) -> str:
    done = sum(1 for one in summary.iterations if one.iteration)
    planned = summary.config.get("iterations")
    return f"{done} of {planned}" if planned is not None else f"{done}"


def _success(one: IterationSummary | None) -> str:
    evaluation = one.evaluation if one is not None else None
    return rate_text(evaluation.successes, evaluation.n) if evaluation is not None else "–"


def _interval(one: IterationSummary | None) -> str:
    evaluation = one.evaluation if one is not None else None
    return (
        interval_text(evaluation.successes, evaluation.n) if evaluation is not None and evaluation.n else ""
    )


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
