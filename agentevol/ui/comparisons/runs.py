"""Runs side by side: the figures of `agentevol compare`, and the settings that differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentevol.config.files.settings import flattened
from agentevol.loop.report.comparison import Evolved
from agentevol.loop.report.document import Table
from agentevol.loop.report.run_comparison import compare_runs
from agentevol.ui.runs.summaries import summary_of


@dataclass(frozen=True)
class RunComparisonView:
    """View of a comparison of runs."""

    tables: Sequence[Table]
    notes: Sequence[str]
    settings: Table
    """Settings that differ."""


def comparison_view(runs: Mapping[str, Path]) -> RunComparisonView:
    """Compare runs by name. Raises `ConfigError` where one has nothing evaluated or two share no task, and
    `StoreError`.
    """
    found = compare_runs([(folder, summary_of(folder)) for folder in runs.values()], "kind", names=list(runs))
    parts = list(found.parts())
    return RunComparisonView(
        [one for one in parts if isinstance(one, Table)],
        [one for one in parts if isinstance(one, str)],
        _differing_settings(found.runs),
    )


def _differing_settings(runs: Sequence[Evolved]) -> Table:
    flat = {run.name: dict(flattened({**run.settings, "seed": run.seed})) for run in runs}
    keys = sorted({key for settings in flat.values() for key in settings})
    rows = [
        [key, *(settings.get(key, "–") for settings in flat.values())]
        for key in keys
        if len({settings.get(key) for settings in flat.values()}) > 1
    ]
    return Table("Settings that differ", "", ["setting", *flat], rows)
