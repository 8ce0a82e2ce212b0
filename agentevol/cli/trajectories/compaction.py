"""`agentevol trajectories compact`: large files in place of many small ones."""

from dataclasses import asdict
from typing import Annotated

import typer

from agentevol.cli.console.counting import counting
from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.trajectories.tables import Table, open_table


def compact(
    path: Table,
    target: Annotated[int, typer.Option(min=1, help="MiB up to which files are put together.")] = 128,
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Also remove files that were replaced a while ago.")
    ] = False,
    hours: Annotated[
        int, typer.Option(min=1, help="With --vacuum: hours for which replaced files stay.")
    ] = 168,
    json: AsJson = False,
) -> None:
    """Put small files of a table together, and those of the feedback beside it. Its episodes, their order and
    all its versions stay.

    Runs may read and append meanwhile. Replaced files stay on the disk until --vacuum removes those that were
    replaced more than --hours ago; versions older than that can then be read no more, which the last line
    tells. Every append of a run is a file, so that long runs read faster after it.

    Example: agentevol trajectories compact runs/first --vacuum
    """
    from agentgym_store.feedback.table import FeedbackTable
    from agentgym_store.table.compaction import compact
    from agentgym_store.table.vacuum import readable_from
    from agentgym_store.table.vacuum import vacuum as remove_replaced

    store = open_table(path)
    opinions = FeedbackTable.beside(store.place.name)
    with counting("files put together") as progress:
        done = compact(store.place, target * 2**20, progress)
    said = opinions.compact()
    removed = remove_replaced(store.place, hours).files if vacuum else 0
    if vacuum and said.files_before:
        removed += remove_replaced(opinions.place, hours).files
    first, last = readable_from(store.place), store.version()
    if json:
        known = {"removed": removed, "readable_from": first, "version": last}
        print_json({**asdict(done), **known, "feedback": asdict(said) if said.files_before else None})
        return
    print(f"{done.files_before:,} files before, {done.files_after:,} now; {done.replaced:,} were replaced")
    if said.files_before:
        print(f"feedback: {said.files_before:,} files before, {said.files_after:,} now")
    if vacuum:
        print(f"{removed:,} files removed")
    print(f"versions {first:,} to {last:,} can be read")
