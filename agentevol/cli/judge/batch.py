"""Judgements of a file: progress, the file that is written, and the figures that are printed."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agentevol.cli.console.output import print_json, print_table
from agentevol.cli.judge.setup import Setup
from agentevol.data.judgements.batch import judge_entries
from agentevol.data.judgements.files import read_entries
from agentevol.data.judgements.outcomes import Failed, Ok, Usage
from agentevol.data.judgements.panel import described_judges
from agentevol.data.judgements.summary import Summary, summary

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_FAILURES = 5


def judge_file(file: str, setup: Setup, out: Path | None, *, resume: bool, json: bool) -> int:
    """Judge the items of a file and print figures; exit code 1 if one of them failed."""
    panel, asked, entries = setup.panel(), setup.asked(), read_entries(file)
    place = out or Path(f"{Path(file).stem or 'items'}.judgements.jsonl")
    with counting(len(entries)) as tell:
        found = judge_entries(
            entries, panel, asked, place, resume=resume, concurrency=setup.concurrency, tell=tell
        )
    recorded = {number: one.recorded for number, one in enumerate(entries) if one.recorded is not None}
    figures = summary(found, recorded)
    if json:
        judges = described_judges(panel.judges)
        print_json({"file": file, "out": str(place), "judges": judges, **figures.model_dump(mode="json")})
    else:
        show(figures, found)
        print(f"judgements in {place}")
    return 0 if figures.outcomes["ok"] == figures.items else 1


def show(figures: Summary, judgements: list[Ok | Failed]) -> None:
    """Print outcomes, mean scores, agreement and usage."""
    print_table(("outcome", "items"), [*figures.outcomes.items(), ("all", figures.items)])
    if figures.scores:
        print_table(
            ("dimension", "mean", "seats"), [(o.dimension, _number(o.mean), o.n) for o in figures.scores]
        )
    if figures.agreement:
        header = ("dimension", "raters", "n", "mean difference", "equal", "correlation", "alpha")
        rows = [
            (
                one.dimension,
                _raters(one.raters, one.between),
                one.n,
                _number(one.mean_absolute_difference),
                _number(one.exact),
                _number(one.correlation),
                _number(one.alpha),
            )
            for one in figures.agreement
        ]
        print_table(header, rows)
    failed = [one for one in judgements if isinstance(one, Failed)]
    for one in failed[:FIRST_FAILURES]:
        print(f"{one.id}: failed({one.kind}): {one.detail}")
    if len(failed) > FIRST_FAILURES:
        print(f"... and {len(failed) - FIRST_FAILURES:,} more")
    if figures.usage.requests or figures.usage.cached:
        print(usage_text(figures.usage))


def usage_text(usage: Usage) -> str:
    """Calls, tokens and cost in one line."""
    estimated = f" ({usage.estimated:,} calls estimated)" if usage.estimated else ""
    cost = "" if usage.cost is None else f", ${usage.cost:,.4f}"
    tokens = f"{usage.prompt_tokens:,} prompt tokens, {usage.completion_tokens:,} completion tokens"
    return f"usage: {usage.requests:,} calls, {usage.cached:,} answers without one, {tokens}{estimated}{cost}"


@contextmanager
def counting(total: int) -> "Iterator[Callable[[Ok | Failed], None]]":
    """Progress on a terminal with the number of failures; yields the function that takes judgements."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    console, outcomes = Console(stderr=True), Counter[str]()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)

        def tell(one: Ok | Failed) -> None:
            outcomes[one.status] += 1
            progress.update(task, advance=1, description=f"{outcomes['failed']} failed")

        yield tell


def _raters(raters: tuple[str, ...], between: str) -> str:
    if between == "samples":
        return f"{len(raters)} samples of {raters[0].rpartition('#')[0]}"
    return " and ".join(raters)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
