"""Report of a run: its tables, example episodes and configuration as a `Document`, and its HTML page."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentevol.config.files.settings import flattened
from agentevol.core.summaries import IterationSummary, RunSummary, best
from agentevol.loop.league import table as league
from agentevol.loop.population.records import HEADER, NOTE, TITLE, members_table, read_record
from agentevol.loop.report.comparison import checkpoint_strengths
from agentevol.loop.report.document import Document, Table, as_html
from agentevol.loop.report.environments import environments_table
from agentevol.loop.report.examples import Example, run_examples, shown
from agentevol.loop.report.plots import success_plot, success_png
from agentevol.loop.report.rates import breakdown as counts_by
from agentevol.loop.report.rates import (
    headline,
    interval_text,
    mean_text,
    rate_text,
    score_interval_text,
    score_text,
    share_text,
    success_rows,
)
from agentevol.loop.report.selection_figures import feedback_figures, own_figures, solved_figures, variety
from agentevol.loop.report.stage_matrix import matrix_table
from agentevol.loop.report.strengths import Strength
from agentevol.loop.report.thinking_modes import thinking_table
from agentgym_store.files import whole_file

Rows = list[list[str]]


def write_report(run_folder: Path, summary: RunSummary, *, examples: Sequence[Example] | None = None) -> Path:
    """Write `success.png` and `report.html` into the run's folder and return the latter.

    `examples` None takes three episodes from the run's table. Raises `StoreError` where the table cannot be
    read or the disk refuses.
    """
    picture = success_plot(success_rows(summary), run_folder / "success.png", title=_plot_title(summary))
    shown = run_examples(run_folder, summary) if examples is None else examples
    strengths, members = checkpoint_strengths(run_folder, summary), _members(run_folder)
    page = as_html(run_document(summary, picture.read_bytes(), shown, strengths, members))
    with whole_file(run_folder / "report.html") as file:
        file.write(page.encode())
    return run_folder / "report.html"


def report_of_run(folder: Path, summary: RunSummary) -> tuple[Document, dict[str, Any]]:
    """The report of a run, which may be running, as a document and as JSON values. Raises `StoreError`."""
    strengths = checkpoint_strengths(folder, summary)
    picture = success_png(success_rows(summary), title=_plot_title(summary))
    leader = best(summary)
    values = {
        "format": "agentevol.run-report/1",
        "headline": headline(summary),
        "best": None if leader is None else leader.iteration,
        "strengths": {one.name: {"log": one.log_strength, "interval": one.interval} for one in strengths},
        **json.loads(summary.model_dump_json()),  # which has null for what is not a number
    }
    return run_document(summary, picture, run_examples(folder, summary), strengths, _members(folder)), values


def render(
    summary: RunSummary,
    picture: bytes,
    examples: Sequence[Example] = (),
    strengths: Sequence[Strength] = (),
) -> str:
    """The page as text; `picture` is a PNG."""
    return as_html(run_document(summary, picture, examples, strengths))


def run_document(
    summary: RunSummary,
    picture: bytes | None = None,
    examples: Sequence[Example] = (),
    strengths: Sequence[Strength] = (),
    members: Sequence[Table] = (),
) -> Document:
    """The report of a run; `picture` is a PNG, `members` the table of a population."""
    return Document(
        summary.run,
        f"in {summary.environment}",
        headline(summary),
        [*members, *_tables(summary), _strengths(strengths)],
        picture=picture,
        examples=[shown(example) for example in examples],
        configuration=[[key, value] for key, value in flattened(summary.config)],
    )


def success_table(summary: RunSummary) -> Rows:
    """Iteration, checkpoint, table version, success, interval, won/n, reward, turns, tokens, invalid actions,
    validation.
    """
    peak = best(summary)
    return [_success_row(one, one is peak) for one in summary.iterations if one.evaluation is not None]


def breakdown_table(summary: RunSummary, breakdown: str) -> Rows:
    """Value, then for each evaluated iteration `62.0 % (31/50)`."""
    evaluated = [counts_by(one.evaluation, breakdown) for one in summary.iterations if one.evaluation]
    values = sorted({value for groups in evaluated for value in groups})
    return [[value, *(_share(groups.get(value, (0, 0))) for groups in evaluated)] for value in values]


def endings_table(summary: RunSummary) -> tuple[list[str], Rows]:
    """Header and rows: number of explored and evaluated episodes by ending; `all` is their sum.

    Where the requested number is known and differs, the difference is shown, never hidden.
    """
    counted = list(_counted(summary))
    names = sorted({ending for _, endings, _ in counted for ending in endings})
    rows = [
        [label, *(f"{endings.get(name, 0):,}" for name in names), *_sums(endings, asked)]
        for label, endings, asked in counted
    ]
    return ["episodes", *names, "all", "requested", "played again"], rows


def _counted(summary: RunSummary) -> Iterator[tuple[str, dict[str, int], IterationSummary | None]]:
    for one in summary.iterations:
        if one.explored or one.requested:
            yield f"explored in iteration {one.iteration}", one.explored, one
    for one in summary.iterations:
        if one.evaluation is not None and one.evaluation.endings:
            yield f"evaluated after iteration {one.iteration}", one.evaluation.endings, None
    for one in summary.iterations:
        if one.validation is not None and one.validation.endings:
            yield f"validated after iteration {one.iteration}", one.validation.endings, None


def _sums(endings: Mapping[str, int], asked: IterationSummary | None) -> list[str]:
    """Sum, number requested and number played again; `asked` is None where that was not recorded."""
    total = sum(endings.values())
    if asked is None:
        return [f"{total:,}", "–", "–"]
    if asked.requested is None:
        return [f"{total:,}", "–", f"{asked.replayed:,}"]
    wanted = asked.requested * asked.seats + asked.further_seats
    missing = f" ({wanted - total:,} unaccounted for)" if wanted != total else ""
    seats = f" x {asked.seats} seats" if asked.seats > 1 else ""
    seats += f" + {asked.further_seats:,} further seats" if asked.further_seats else ""
    return [f"{total:,}", f"{asked.requested:,}{seats}{missing}", f"{asked.replayed:,}"]


def scores_table(summary: RunSummary) -> tuple[list[str], Rows]:
    """Header and rows: for each evaluated iteration and dimension the mean score, its interval, and n."""
    rows = [
        [f"{one.iteration}", name, score_text(score), score_interval_text(score), f"{score.n:,}"]
        for one in summary.iterations
        if one.evaluation is not None
        for name, score in one.evaluation.dimensions.items()
    ]
    return ["iteration", "dimension", "mean", "95 % interval", "n"], rows


def _success_row(one: IterationSummary, is_best: bool) -> list[str]:
    evaluation = one.evaluation
    if evaluation is None:
        return []
    return [
        f"{one.iteration}{' (best)' if is_best else ''}",
        one.checkpoint,
        f"{one.table_version}",
        rate_text(evaluation.successes, evaluation.n),
        interval_text(evaluation.successes, evaluation.n),
        f"{evaluation.successes:,}/{evaluation.n:,}",
        mean_text(evaluation.mean_reward, ".3f"),
        mean_text(evaluation.mean_turns, ".1f"),
        mean_text(evaluation.mean_tokens, ".1f"),
        share_text(evaluation.invalid_actions),
        _share((one.validation.successes, one.validation.n)) if one.validation else "–",
    ]


def _share(counts: tuple[int, int]) -> str:
    successes, n = counts
    return f"{rate_text(successes, n)} ({successes}/{n})" if n else "–"


def _figures(rows: Sequence[tuple[int, Mapping[str, float]]], pattern: str) -> tuple[list[str], Rows]:
    """Header and rows of named numbers for each iteration; a dash where an iteration has no such number."""
    names = list(dict.fromkeys(name for _, values in rows for name in values))
    names.sort(key="total".__eq__)  # the sum comes last, the other names keep their order
    table = [
        [f"{iteration}", *(format(values[name], pattern) if name in values else "–" for name in names)]
        for iteration, values in rows
        if values
    ]
    return ["iteration", *names], table


def _by_figure(rows: Sequence[tuple[int, Mapping[str, float]]], pattern: str) -> tuple[list[str], Rows]:
    """Header and rows of `_figures`, turned: a line for each number, which may be many."""
    header, lines = _figures(rows, pattern)
    numbers = [f"iteration {line[0]}" for line in lines]
    return ["figure", *numbers], [
        [name.replace("_", " "), *(line[place] for line in lines)]
        for place, name in enumerate(header[1:], start=1)
        if lines
    ]


def _members(run_folder: Path) -> list[Table]:
    """Table of the members of a population; of other runs none."""
    found = read_record(run_folder)
    return [] if found is None else [Table(TITLE, NOTE, HEADER, members_table(found))]


def _tables(summary: RunSummary) -> Iterator[Table]:
    success = [
        "iteration",
        "checkpoint",
        "table version",
        "success",
        "95 % interval",
        "won",
        "reward",
        "turns",
    ]
    yield Table(
        "Success per iteration",
        f"On the held-out split “{_split(summary)}”, episodes with a return; iteration 0 is the start. "
        "The best checkpoint is the one with the highest success in validation, where there is one.",
        [*success, "tokens", "invalid actions", "validation"],
        success_table(summary),
    )
    yield environments_table(summary)
    evaluated = [f"iteration {one.iteration}" for one in summary.iterations if one.evaluation]
    for name, title in (("kind", "Success by task type"), ("difficulty", "Success by difficulty")):
        yield Table(title, "", [title.rpartition("by ")[2], *evaluated], breakdown_table(summary, name))
    note = "Replies of the evaluation by thinking mode (arXiv:2505.02156), and mean tokens of a reply."
    yield Table("Thinking modes", note, *thinking_table(summary))
    note = (
        "Means of the scores that the environment tells, over the episodes that have them. Intervals are"
        " clustered by scenario, or else by task."
    )
    yield Table("Scores by dimension", note, *scores_table(summary))
    note, header, rows = matrix_table(summary)
    yield Table("Success by environment and stage", note, header, rows)
    note = (
        "Every requested episode ended in exactly one way. Failed ones have no return and are not trained on."
    )
    yield Table("How episodes ended", note, *endings_table(summary))
    yield from _selection_tables(summary)
    note = "Opinions about episodes by kind, what they became, and those left out by reason."
    opinions = [(one.iteration, feedback_figures(one.selection)) for one in summary.iterations]
    yield Table("Feedback", note, *_by_figure(opinions, ",.6g"))
    note = (
        "Training sequences by source, and their weights."
        " Explored to expert: sequences of the agent for each of the expert's."
    )
    yield Table("Training data by environment", note, *_data(summary))
    learnt = [(one.iteration, _learnt(one)) for one in summary.iterations]
    yield Table("Learning", "", *_figures(learnt, ",.6g"))
    note = "Processes and nodes that were lost and replaced, episodes played again, and seconds that it took."
    broken = [(one.iteration, one.faults.figures()) for one in summary.iterations]
    yield Table("What broke, and what it cost", note, *_figures(broken, ",.6g"))
    note = (
        "Sampled tokens and episodes per second while episodes are played; mean and longest wait of an"
        " episode for a rollout worker (queue) and of a turn for a place in the embedded engine; peak memory"
        " of a process since its start, of rollout workers the largest. The learner's is under Learning."
    )
    system = [(one.iteration, one.system) for one in summary.iterations]
    yield Table("Use of the system", note, *_by_figure(system, ",.4g"))
    seconds = [(one.iteration, _with_total(one.seconds)) for one in summary.iterations]
    yield Table("Time, in seconds", "", *_figures(seconds, ",.1f"))


def _selection_tables(summary: RunSummary) -> Iterator[Table]:
    yield Table(league.TITLE, league.NOTE, league.HEADER, league.league_table(summary))
    solved = [(one.iteration, solved_figures(one.selection)) for one in summary.iterations]
    yield Table("Tasks solved in exploration, and selected episodes", "", *_figures(solved, ",.6g"))
    note = (
        "The policy's own scores of explored episodes, held against their outcomes; scores that were not used"
        " have 0 under self used. Intervals are of the AUC, by bootstrap over tasks."
    )
    own = [(one.iteration, own_figures(one.selection)) for one in summary.iterations]
    yield Table("Self-evaluation", note, *_by_figure(own, ",.4g"))
    note = "Below half of iteration 1's value twice in a row, a policy is said to collapse."
    varied = [(one.iteration, variety(one.selection)) for one in summary.iterations]
    yield Table("Variety of explored episodes", note, *_figures(varied, ",.4g"))


def _data(summary: RunSummary) -> tuple[list[str], Rows]:
    """Header and rows: a line for each iteration and environment."""
    found = [(one.iteration, name, values) for one in summary.iterations for name, values in one.data.items()]
    names = list(dict.fromkeys(figure for *_, values in found for figure in values))
    rows = [
        [f"{iteration}", name, *(format(v[figure], ",.6g") if figure in v else "–" for figure in names)]
        for iteration, name, v in found
    ]
    return ["iteration", "environment", *names], rows


def _strengths(strengths: Sequence[Strength]) -> Table:
    note = (
        "Bradley-Terry, natural logarithm; a tie on a task is half a win to each. 95 % bootstrap over tasks."
    )
    rows = [
        [one.name, f"{one.log_strength:.2f}", f"{one.interval[0]:.2f} to {one.interval[1]:.2f}"]
        for one in strengths
    ]
    return Table("Strength of the checkpoints", note, ["checkpoint", "log-strength", "95 % interval"], rows)


def _learnt(one: IterationSummary) -> dict[str, float]:
    if not one.learn and not one.selected:
        return {}
    counts = {
        "episodes selected": one.selected,
        "sequences": one.sequences,
        "tokens trained": one.trained_tokens,
    }
    proxy = {} if one.proxy is None else {"score in validation": one.proxy}
    return {**counts, **one.learn, **proxy}


def _with_total(seconds: Mapping[str, float]) -> dict[str, float]:
    return {**seconds, "total": sum(seconds.values())} if seconds else {}


def _split(summary: RunSummary) -> str:
    return next((one.evaluation.split for one in summary.iterations if one.evaluation), "")


def _plot_title(summary: RunSummary) -> str:
    split = _split(summary)
    return f"{summary.environment}: success on the held-out split" + (f" “{split}”" if split else "")
