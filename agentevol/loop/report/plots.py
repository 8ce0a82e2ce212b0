"""Plot of success per iteration.

Figures are made without `pyplot`: no global state, no display, and safe in any thread.
"""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from agentevol.loop.report.intervals import wilson
from agentevol.loop.report.rates import SuccessRow
from agentgym_store.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALL_COLOUR = "#1f4e8c"
GROUP_COLOURS = ("#2a9d8f", "#e08e0b", "#c8553d", "#7b5ea7", "#6b705c", "#b5838d")
TITLE = "Success on the held-out split"


def success_plot(rows: Sequence[SuccessRow], out: Path, *, title: str = TITLE) -> Path:
    """Write a PNG: success per iteration with 95 % Wilson intervals, a line for each group."""
    with whole_file(out) as file:
        file.write(success_png(rows, title=title))
    return out


def success_png(rows: Sequence[SuccessRow], *, title: str = TITLE) -> bytes:
    """The plot as PNG bytes; equal rows give equal bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    groups = list(dict.fromkeys(row.group for row in rows))
    for place, group in enumerate(groups):
        _draw(axes, [row for row in rows if row.group == group], place, len(groups))
    _label(axes, rows, title)
    if len(groups) > 1:
        axes.legend(frameon=False, loc="best")
    picture = BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()


def _draw(axes: "Axes", rows: Sequence[SuccessRow], place: int, groups: int) -> None:
    scored = [row for row in rows if row.n]
    rates = [100 * row.successes / row.n for row in scored]
    bounds = [wilson(row.successes, row.n) for row in scored]
    down = [rate - 100 * low for rate, (low, _) in zip(rates, bounds, strict=True)]
    up = [100 * high - rate for rate, (_, high) in zip(rates, bounds, strict=True)]
    whole = bool(rows) and not rows[0].group
    shift = (place - (groups - 1) / 2) * 0.06  # so that bars of equal iterations do not hide each other
    axes.errorbar(
        [row.iteration + shift for row in scored],
        rates,
        yerr=(down, up),
        color=ALL_COLOUR if whole else GROUP_COLOURS[place % len(GROUP_COLOURS)],
        linewidth=2.2 if whole else 1.3,
        linestyle="-" if whole else "--",
        marker="o",
        markersize=6 if whole else 4,
        capsize=4,
        label=_plain("all" if whole else rows[0].group),
    )
    if whole and groups == 1:
        for row, rate in zip(scored, rates, strict=True):
            axes.annotate(
                f"{rate:.0f} %", (row.iteration, rate), (7, 7), textcoords="offset points", fontsize=9
            )


def _label(axes: "Axes", rows: Sequence[SuccessRow], title: str) -> None:
    numbers = [row.n for row in rows if not row.group] or [0]
    n = f"{numbers[0]}" if len(set(numbers)) == 1 else f"{min(numbers)} to {max(numbers)}"
    axes.set_title(
        _plain(f"{title}\nn = {n} episodes per iteration, bars are 95 % Wilson intervals"), fontsize=11
    )
    axes.set_xlabel("iteration (0 is the start)")
    axes.set_ylabel("episodes won, %")
    axes.set_ylim(0, 104)
    axes.set_yticks(range(0, 101, 20))
    axes.set_xticks(sorted({row.iteration for row in rows}))
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if not rows:
        axes.text(0.5, 0.5, "nothing evaluated yet", transform=axes.transAxes, ha="center", color="gray")


def _plain(text: str) -> str:
    """Text that matplotlib does not parse as a formula."""
    return text.replace("$", r"\$")
