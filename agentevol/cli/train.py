"""`agentevol train`: one training on a data set."""

from math import isfinite
from pathlib import Path
from typing import Annotated

import typer

from agentevol.cli.console.configuration import Arguments, file_and_overrides
from agentevol.cli.console.output import AsJson, print_json, print_table
from agentgym_store.purposes import Purpose


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(train)


def train(
    data: Annotated[
        str,
        typer.Argument(
            help="A run's folder or table, which may be a URL, an export of it, or chats as JSON Lines."
        ),
    ],
    arguments: Arguments = None,
    out: Annotated[Path, typer.Option(help="A new folder for the checkpoint.")] = Path("checkpoint"),
    iteration: Annotated[int | None, typer.Option(min=0, help="Of a table, only this iteration.")] = None,
    purpose: Annotated[
        Purpose,
        typer.Option(help="Of a table, only episodes of this purpose."),
    ] = "explore",
    json: AsJson = False,
) -> None:
    """Learn once from a data set, with any algorithm.

    Example: agentevol train runs/first algorithm=dpo base=runs/first/checkpoints/0002 --out better

    Example: agentevol train runs/first algorithm=dpo feedback=human base=runs/first --out better
    """
    from agentevol.config.run import TrainConfig, load

    config = load(*file_and_overrides(arguments), TrainConfig)

    from rich.console import Console

    from agentevol.loop.control.diagnostics import remarks
    from agentevol.runs import training
    from agentgym_store.store import Where

    console = Console(highlight=False, stderr=json)
    where = Where(iteration=iteration, purpose=purpose)
    report = training.train(data, config, out=out, where=where, console=console)
    if json:
        metrics = {name: value if isfinite(value) else None for name, value in report.metrics.items()}
        print_json({"checkpoint": str(report.checkpoint.path), "metrics": metrics})
        return
    print_table(
        ("figure", config.learn.algorithm), [(name, f"{v:.6g}") for name, v in report.metrics.items()]
    )
    measured = [f"measure it: {line}" for line in _evaluations(data, out)]
    for line in (*remarks(report.metrics), f"checkpoint: {report.checkpoint.path}", *measured):
        console.print(line, markup=False, soft_wrap=True)


def _evaluations(data: str, out: Path) -> list[str]:
    """The commands that measure the new checkpoint, on the tasks that the run of the data holds out."""
    from agentevol.config.commands import command, evaluation_commands
    from agentevol.loop.state.run_folder import read_summary

    records = f"{out}.jsonl"
    if not (Path(data) / "config.toml").is_file():
        return [command("eval", "--model", out, "--env", "ENVIRONMENT", "--records", records)]
    return evaluation_commands(read_summary(Path(data)).config, str(out), records)
