"""`agentevol feedback`: opinions about the episodes of a run or table."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from agentevol.cli.console.output import print_json_line, print_table
from agentevol.cli.feedback.environment import add_environment
from agentevol.cli.feedback.queue import show_queue
from agentevol.cli.feedback.statistics import stats
from agentevol.cli.judge.stored import judge_stored
from agentevol.cli.trajectories.tables import Table, open_table

HELP = """Rate, flag, correct and compare episodes.

`agentevol train RUN feedback=human` learns from it; the pages of `agentevol ui RUN` have forms, and the
commands for the opinions that there are.
"""
app = typer.Typer(no_args_is_help=True, help=HELP)

Turn = Annotated[int | None, typer.Option(min=1, help="Number of the turn, from 1; default: the episode.")]
Source = Annotated[str, typer.Option("--as", help="Whose opinion it is: human:NAME, judge:MODEL, ...")]
Flag = Literal["unsafe", "cheating", "broken"]
Verdict = Literal["better", "worse", "tie"]


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    app.command("judge")(judge_stored)
    app.command("environment")(add_environment)
    app.command("queue")(show_queue)
    app.command("stats")(stats)
    parent.add_typer(app, name="feedback")


@app.command("list")
def list_feedback(
    path: Table,
    every: Annotated[bool, typer.Option("--all", help="Also replaced and withdrawn opinions.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one record per line, as import reads it.")
    ] = False,
) -> None:
    """List the opinions about the episodes, the latest of each person on each thing.

    Example: agentevol feedback list runs/first --json
    """
    from agentgym_store.feedback.latest import standing

    records = _table(path).records()
    found = records if every else standing(records)
    if json:
        for one in found:
            print_json_line(one.model_dump(mode="json"))
        return
    rows = [
        (one.trajectory_id, "" if one.turn is None else one.turn + 1, one.source, _told(one), one.note)
        for one in found
    ]
    print_table(("episode", "turn", "source", "opinion", "note"), rows, spare=("note",))
    print(f"{len(found):,} opinions")


@app.command()
def add(
    path: Table,
    episode: Annotated[str, typer.Argument(help="Id of an episode, or the beginning of it.")],
    source: Source,
    turn: Turn = None,
    score: Annotated[float | None, typer.Option(help="A rating.")] = None,
    scale: Annotated[tuple[float, float], typer.Option(help="Worst and best rating.")] = (1, 5),
    action: Annotated[str | None, typer.Option(help="A better action for the turn.")] = None,
    flag: Annotated[Flag | None, typer.Option(help="Why nothing should be learnt from the episode.")] = None,
    than: Annotated[str | None, typer.Option(help="Another episode of the task, with --verdict.")] = None,
    verdict: Annotated[Verdict, typer.Option(help="This episode beside --than.")] = "better",
    note: Annotated[str, typer.Option(help="Free text.")] = "",
) -> None:
    """Add one opinion: a rating, a correction, a flag or a comparison.

    Example: agentevol feedback add runs/first train/small/17 --as human:Anna --turn 3 --action look
    """
    from agentevol.cli.trajectories import find
    from agentevol.data.feedback.checks import check_records
    from agentgym_store.feedback.records import feedback

    store = open_table(path)
    given: list[dict[str, Any]] = []
    if score is not None:
        given.append({"kind": "score", "value": score, "low": scale[0], "high": scale[1]})
    if action is not None:
        given.append({"kind": "correction", "action": action})
    if flag is not None:
        given.append({"kind": "flag", "reason": flag})
    if than is not None:
        given.append({"kind": "comparison", "other": find(store, than).id, "verdict": verdict})
    if len(given) != 1:
        raise typer.BadParameter(f"one of --score, --action, --flag and --than, not {len(given)}")
    about = {"trajectory_id": find(store, episode).id, "turn": None if turn is None else turn - 1}
    record = feedback({**about, "source": source, "opinion": given[0], "note": note})
    check_records([record], store)
    _table(path).append([record])
    print(f"added: {record.id}")


@app.command("import")
def import_feedback(
    path: Table, file: Annotated[Path, typer.Argument(help="JSON Lines of records; docs/feedback.md.")]
) -> None:
    """Add the records of a file, all or none; those whose id is there already are left out.

    Example: agentevol feedback import runs/first feedback.jsonl
    """
    from agentevol.data.feedback.additions import add_records
    from agentgym_store.feedback.records import Feedback
    from agentgym_store.jsonl import records_in

    table = _table(path)
    added = add_records(list(records_in(file, Feedback)), table, open_table(path))
    print(f"{len(added.records):,} records added; {added.known:,} were there already")


def _table(path: str) -> Any:
    from agentevol.data.feedback.opinions import feedback_on
    from agentgym_store.urls import named

    open_table(path)  # a wrong path is told, before an empty list
    return feedback_on(named(path))


def _told(one: Any) -> str:
    """An opinion in a few words."""
    values = one.opinion.model_dump(exclude={"kind"}, exclude_none=True)
    told = ", ".join(f"{name} {value}" for name, value in values.items())
    return f"{'withdrawn: ' if one.withdrawn else ''}{one.kind}: {told}"
