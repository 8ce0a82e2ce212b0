"""Table at the end of a run, for the terminal."""

from rich import box
from rich.table import Table
from rich.text import Text

from agentevol.core.summaries import IterationSummary, RunSummary, best
from agentevol.loop.report.rates import headline, interval_text, mean_text, rate_text

HEADER = (
    "iteration",
    "success",
    "95 % interval",
    "n",
    "reward",
    "turns",
    "explored",
    "failed",
    "selected",
    "time",
)


def terminal_table(summary: RunSummary) -> Table:
    """One row for each iteration, the best one marked; the caption states the gain."""
    table = Table(
        title=Text(f"{summary.run}: {summary.environment}"),
        title_justify="left",
        caption=Text(headline(summary)),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,  # with the box's own spaces it fits 80 columns
        show_edge=False,
    )
    for name in HEADER:
        table.add_column(name, justify="right", no_wrap=True)
    peak = best(summary)
    for one in summary.iterations:
        table.add_row(
            *(Text(cell) for cell in _cells(one, one is peak)), style="bold" if one is peak else None
        )
    return table


def _cells(one: IterationSummary, is_best: bool) -> tuple[str, ...]:
    explored = sum(one.explored.values())
    minutes, seconds = divmod(int(one.took_s), 60)
    failed = sum(count for ending, count in one.explored.items() if ending.startswith("failed"))
    return (
        f"{one.iteration}{' *' if is_best else ''}",
        *_success(one),
        f"{explored:,}" if explored else "–",
        f"{failed:,}" if explored else "–",
        f"{one.selected:,}" if explored else "–",
        f"{minutes}:{seconds:02}",
    )


def _success(one: IterationSummary) -> tuple[str, ...]:
    evaluation = one.evaluation
    if evaluation is None or evaluation.n == 0:
        return ("–",) * 5
    return (
        rate_text(evaluation.successes, evaluation.n),
        interval_text(evaluation.successes, evaluation.n),
        f"{evaluation.n}",
        mean_text(evaluation.mean_reward, ".2f"),
        mean_text(evaluation.mean_turns, ".1f"),
    )
