"""`agentevol bench`: benchmarks, each with its baseline."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentevol.cli.console.output import AsJson

Name = Literal["env", "serve", "rollout", "learn", "store", "startup"]
OPTIONS = {
    "env": ("--env", "env"),
    "products": ("--products", "env"),
    "openenv_python": ("--openenv", "serve"),
    "engine": ("--engine", "rollout"),
    "size": ("--size", "rollout"),
}
"""Arguments of a benchmark: its option, and the benchmark that has it."""


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(bench)


def bench(
    name: Annotated[Name, typer.Argument(help="What to measure.")],
    json: AsJson = False,
    env: Annotated[
        Literal["alfworld", "assistant", "webshop"] | None,
        typer.Option(help="env: whose steps to measure, alfworld by default."),
    ] = None,
    products: Annotated[
        int | None,
        typer.Option(min=100, help="env, with webshop: generated products; 1,000 and 100,000 by default."),
    ] = None,
    openenv: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="serve: a Python that has openenv==0.10.0."),
    ] = None,
    engine: Annotated[
        Literal["embedded", "vllm"] | None,
        typer.Option(help="rollout: the engine, embedded by default; vllm has to be installed."),
    ] = None,
    size: Annotated[
        Literal["small", "large"] | None,
        typer.Option(help="rollout, with vllm: a model of 54 million weights (by default) or of 2 million."),
    ] = None,
) -> None:
    """Measure a part of agentevol beside an alternative, and print both and the ratio.

    Example: agentevol bench startup --json
    """
    given = {"openenv_python": openenv and str(openenv), "engine": engine, "size": size}
    given |= {"env": env, "products": products}
    options = {option: value for option, value in given.items() if value is not None}
    for option, owner in map(OPTIONS.__getitem__, options):
        if owner != name:
            raise typer.BadParameter(f"{option} is an option of bench {owner}")
    if products is not None and env != "webshop":
        raise typer.BadParameter("--products is an option of bench env --env webshop")
    import_module(f"agentevol.cli.benchmarks.{name}").main(json=json, **options)
