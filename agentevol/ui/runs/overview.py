"""View of one run or table, beside its live progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentevol.config.files.settings import flattened
from agentevol.loop.report.document import Table
from agentevol.loop.report.page import run_document
from agentevol.loop.report.rates import headline, interval_text, rate_text
from agentevol.ui.runs.curves import Curve, success_curve
from agentevol.ui.runs.metrics import MetricGroup, metric_groups
from agentevol.ui.runs.summaries import strengths_of, summary_of
from agentevol.ui.text import number
from agentgym_store.statistics import BREAKDOWNS, Group, Statistics


@dataclass(frozen=True)
class Overview:
    """A run so far, or a table."""

    title: str
    subject: str
    headline: str
    curve: Curve | None
    tables: Sequence[Table]
    metrics: Sequence[MetricGroup]
    configuration: Sequence[tuple[str, str]]


def run_overview(folder: Path) -> Overview:
    """The figures of a run's report. Raises `ConfigError`, `StoreError` or `OSError`."""
    summary = summary_of(folder)
    return Overview(
        summary.run,
        f"in {summary.environment}",
        headline(summary),
        success_curve(summary),
        [table for table in run_document(summary, strengths=strengths_of(folder)).tables if table.rows],
        metric_groups(folder),
        list(flattened(summary.config)),
    )


def table_overview(name: str, found: Statistics) -> Overview:
    """Statistics of a table that belongs to no run."""
    tables = [_breakdown(breakdown, found.by[breakdown]) for breakdown in BREAKDOWNS if found.by[breakdown]]
    return Overview(name, "table of episodes", _sentence(found.total), None, tables, [], [])


def _sentence(total: Group) -> str:
    if not total.scored:
        return f"{total.episodes:,} episodes, none of them with a return."
    won = rate_text(total.successes, total.scored)
    between = interval_text(total.successes, total.scored)
    told = f"{won} of the {total.scored:,} with a return were won (95 % interval {between})"
    return f"{total.episodes:,} episodes; {told}."


def _breakdown(name: str, groups: Mapping[str, Group]) -> Table:
    header = [name, "episodes", "success", "95 % interval", "mean return", "turns", "tokens"]
    return Table(f"By {name}", "", header, [_row(*one) for one in groups.items()])


def _row(value: str, group: Group) -> list[str]:
    return [
        value or "–",
        f"{group.episodes:,}",
        rate_text(group.successes, group.scored),
        interval_text(group.successes, group.scored) if group.scored else "–",
        number(group.mean_reward),
        number(group.mean_turns, 1),
        number(group.mean_sampled_tokens, 1),
    ]
