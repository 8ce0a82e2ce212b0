"""`agentevol run`: the training loop."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentevol.cli.console.configuration import Arguments, file_and_overrides
from agentevol.cli.console.output import print_table

if TYPE_CHECKING:
    from rich.console import Console

    from agentevol.core.summaries import RunSummary


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(run)


Preset = Annotated[
    list[str] | None,
    typer.Option(
        help="Named settings, which the file and settings go over: of a method (aml, aml-grpo, aml-sft,"
        " aml-mode-1 to aml-mode-4, rlhf, rlhf-grpo, rlhf-dpo, rlhf-adpo), or where processes run (cpu,"
        " one-gpu, eight-gpus, multi-node). May be given twice."
    ),
]
Iterations = Annotated[int | None, typer.Option(min=1, help="Iterations: explore, select, learn, evaluate.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of all random draws.")]
Data = Annotated[
    Literal["generated", "official"] | None,
    typer.Option(help="Tasks of the environment's generator, or those imported by `data import`."),
]
Out = Annotated[Path | None, typer.Option(help="A new folder for this run; default ./runs/NAME-DATE.")]
Resume = Annotated[Path | None, typer.Option(help="Finish the run in this folder.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print configuration and plan, then stop.")]


def run(
    arguments: Arguments = None,
    preset: Preset = None,
    iters: Iterations = None,
    seed: Seed = None,
    data: Data = None,
    out: Out = None,
    resume: Resume = None,
    dry_run: DryRun = False,
) -> None:
    """Evolve an agent: explore with the current policy, select, learn, evaluate, again.

    Example: agentevol run --iters 5 --out runs/first explore.tasks=200

    Example: agentevol run --preset aml env=social

    Example: agentevol run --preset rlhf env=questions:FILE base=FOLDER

    Example: agentevol run population.size=4 population.rule=halving population.rates=[0.5,1,2]
    """
    from rich.console import Console

    from agentevol.core.errors import ConfigError

    console = Console(highlight=False)
    shortcuts = _shortcuts(iters=iters, seed=seed, data=data)
    if resume is not None:
        if arguments or shortcuts or out or preset:
            raise ConfigError("--resume takes the run's own configuration: leave out other settings")
        from agentevol.runs import lifecycle

        _print(lifecycle.resume(resume, console=console), resume, console)
        return
    file, overrides = file_and_overrides(arguments)
    from agentevol.config.run import load

    config = load(file, [*overrides, *shortcuts], preset=preset)
    from agentevol.runs import lifecycle

    if dry_run:
        from agentevol.runs.launch import plan

        config = lifecycle.prepared(config, here=False)
        print(config.to_toml())
        print("\n".join(f"# {line}" for line in plan(config)))
        return
    path = out or lifecycle.default_folder(config)
    _print(lifecycle.run(config, out=path, console=console), path, console)


def _shortcuts(*, iters: int | None, seed: int | None, data: str | None) -> list[str]:
    settings = {"iterations": iters, "seed": seed, "environment.data": data}
    return [f"{key}={value}" for key, value in settings.items() if value is not None]


def _print(summary: "RunSummary", path: Path, console: "Console") -> None:
    from agentevol.loop.population.records import HEADER, TITLE, members_table, read_record
    from agentevol.loop.report.environments import environments_table
    from agentevol.loop.report.table import terminal_table

    members = read_record(path)
    if members is not None:
        print_table(HEADER, members_table(members), title=TITLE)
    console.print(terminal_table(summary))
    environments = environments_table(summary)
    if environments.rows:
        print_table(environments.header, environments.rows, title=environments.title)
    console.print(
        f"report: {path / 'report.html'}  plot: {path / 'success.png'}", markup=False, soft_wrap=True
    )
