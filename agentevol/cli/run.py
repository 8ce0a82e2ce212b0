"""`agentevol run`: the main job."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(run)


def run(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CONFIG.toml] [key.path=value]...", help="A configuration file, then overrides."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Where processes run: cpu, one-gpu, eight-gpus, multi-node; the file goes over it."
        ),
    ] = None,
    iters: Annotated[
        int | None, typer.Option(min=1, help="Iterations: explore, select, learn, evaluate.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything that is drawn.")] = None,
    data: Annotated[
        Literal["generated", "official"] | None,
        typer.Option(help="Tasks of the environment's own generator, or those brought in by `data import`."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A new folder for this run; default ./runs/NAME-DATE.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Finish the run in this folder.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print configuration and plan, then stop.")
    ] = False,
) -> None:
    """Evolve an agent: explore with the current policy, select, learn, evaluate, again.

    Example: agentevol run --iters 5 --out runs/first explore.tasks=200
    """
    from agentevol.errors import ConfigError

    shortcuts = _shortcuts(iters=iters, seed=seed, data=data)
    if resume is not None:
        if arguments or shortcuts or out or preset:
            raise ConfigError("--resume takes the run's own configuration: leave out other settings")
        _go(resume, None)
        return
    files = [argument for argument in arguments or [] if "=" not in argument]
    overrides = [argument for argument in arguments or [] if "=" in argument]
    if len(files) > 1:
        raise ConfigError(f"one configuration file, not {len(files)}: {', '.join(files)}")
    from agentevol.config.run import load

    config = load(Path(files[0]) if files else None, [*overrides, *shortcuts], preset=preset)
    from agentevol.launch import plan, prepared

    config = prepared(config, here=not dry_run)
    if dry_run:
        print(config.to_toml())
        print("\n".join(f"# {line}" for line in plan(config)))
        return
    _go(out or Path("runs") / f"{config.name}-{datetime.now():%Y%m%d-%H%M%S}", config)


def _shortcuts(*, iters: int | None, seed: int | None, data: str | None) -> list[str]:
    settings = {"iterations": iters, "seed": seed, "environment.data": data}
    return [f"{key}={value}" for key, value in settings.items() if value is not None]


def _go(path: Path, config: Any) -> None:
    from agentevol.launch import launch
    from agentevol.models import resolve
    from agentevol.progress import Progress
    from agentevol.report.table import terminal_table
    from agentevol.run_folder import RunFolder

    if config is None:
        folder = RunFolder.resume(path)
    else:
        folder = RunFolder.create(path, config, resolve(config.base))
    progress = Progress()
    progress.say(f"run {folder.config.name} in {path}; resume it with: agentevol run --resume {path}")
    summary = launch(folder, progress)
    progress.console.print(terminal_table(summary))
    progress.say(f"report: {path / 'report.html'}  plot: {path / 'success.png'}")
