"""`agentevol trajectories export`: episodes as a data set."""

from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentevol.cli.trajectories.tables import Iteration, OnlyPurpose, Table, open_table, where_of

if TYPE_CHECKING:
    from agentgym_store.store import Where

Format = Literal["jsonl", "agenttraj", "sft", "sotopia"]


def export(
    path: Table,
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    format: Annotated[  # noqa: A002 - the name of the option
        Format,
        typer.Option(help="jsonl is lossless; agenttraj and sft hold text; sotopia is EpisodeLog, by line."),
    ] = "jsonl",
    iteration: Iteration = None,
    purpose: OnlyPurpose = None,
    allow_unjudged: Annotated[
        bool, typer.Option("--allow-unjudged", help="Of sotopia, also episodes that nobody judged.")
    ] = False,
) -> None:
    """Write episodes as a data set; the file appears when it is complete.

    Format sotopia also takes a file of records of agentevol eval.

    Example: agentevol trajectories export runs/first out.jsonl --format sft --iteration 3

    Example: agentevol trajectories export records.jsonl logs.jsonl --format sotopia
    """
    from agentgym_store.exports import export_agent_traj, export_sft
    from agentgym_store.jsonl import export_jsonl

    if out.exists():
        raise FileExistsError(17, "the file exists", str(out))
    if format == "sotopia":
        _export_logs(path, out, where_of(iteration, purpose), allow_unjudged)
        return
    write = {"jsonl": export_jsonl, "agenttraj": export_agent_traj, "sft": export_sft}[format]
    print(f"{write(open_table(path).trajectories(where_of(iteration, purpose)), out)} episodes in {out}")


def _export_logs(path: str, out: Path, where: "Where", allow_unjudged: bool) -> None:
    from agentevol.data.episode_logs import episode_logs, left_out_text, seats_of
    from agentevol.loop.report.evaluations.records import read_records, seat_of
    from agentgym_store.files import write_lines

    if Path(path).is_file():
        seats = map(seat_of, read_records(Path(path)))
    else:
        seats = seats_of(open_table(path).trajectories(where))
    logs, left_out = episode_logs(seats, allow_unjudged=allow_unjudged)
    written = write_lines((dumps(log, ensure_ascii=False) for log in logs), out)
    print(f"{written} episodes in {out}{left_out_text(left_out)}")
