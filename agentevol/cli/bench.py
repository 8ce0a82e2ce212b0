"""`agentevol bench`: benchmarks, each with its baseline."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentevol.cli.console.output import AsJson

Name = Literal["aml", "rlhf", "env", "serve", "rollout", "learn", "store", "startup"]
STEPS = ("alfworld", "assistant", "webshop")
"""Environments whose steps are measured."""
TRAINED = ("aml", "rlhf")
"""Benchmarks that train arms with seeds."""
OPTIONS = {
    "env": ("--env", ("env", *TRAINED)),
    "seeds": ("--seeds", TRAINED),
    "rounds": ("--rounds", TRAINED),
    "tasks": ("--tasks", TRAINED),
    "arms": ("--arms", TRAINED),
    "file": ("--file", TRAINED),
    "settings": ("--set", TRAINED),
    "partner": ("--partner", ("aml",)),
    "partner_format": ("--partner-format", ("aml",)),
    "products": ("--products", ("env",)),
    "openenv_python": ("--openenv", ("serve",)),
    "engine": ("--engine", ("rollout",)),
    "size": ("--size", ("rollout",)),
    "turns": ("--turns", ("store",)),
}
"""Arguments of a benchmark: its option, and the benchmarks that have it."""


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(bench)


def bench(
    name: Annotated[Name, typer.Argument(help="What to measure.")],
    json: AsJson = False,
    env: Annotated[
        str | None,
        typer.Option(
            help="env: whose steps to measure, alfworld (by default), assistant or webshop; aml: where"
            " policies talk, social by default; rlhf: questions, or questions:FILE."
        ),
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
    arms: Annotated[
        str | None,
        typer.Option(
            help="aml: names with commas, or all: bc, bc-mode-1 to bc-mode-4, sft, grpo, ampo, mode-1 to"
            " mode-4; bc, grpo and ampo by default; rlhf: sft, rlhf, grpo, dpo, adpo, pushed, stopped; the"
            " first three by default."
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="aml, rlhf: trainings of each arm, 1 by default.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="aml, rlhf: rounds of a training, 2 or 4 by default.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="aml, rlhf: held-out tasks, 36 or 200 by default.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="aml, rlhf: keep outcomes in this file, and go on from it."),
    ] = None,
    turns: Annotated[
        int | None,
        typer.Option(min=1, help="store: turns of the generated table, 1,000,000 by default."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="aml, rlhf: KEY=VALUE for all arms, as runs have it; may be repeated."),
    ] = None,
    partner: Annotated[
        str | None,
        typer.Option(
            help="aml: also play beside this model, once in each seat: a folder, openai:NAME of an endpoint,"
            " or a script, as for eval."
        ),
    ] = None,
    partner_format: Annotated[
        str | None, typer.Option(help="aml: format of that model's messages, plain by default.")
    ] = None,
) -> None:
    """Measure a part of agentevol beside an alternative, and print both and the ratio.

    Example: agentevol bench startup --json

    Example: agentevol bench aml --arms all --seeds 3 --rounds 10 --tasks 300 --file aml.json

    Example: agentevol bench rlhf --arms all --seeds 3 --rounds 9 --tasks 500 --file rlhf.json
    """
    given = {"openenv_python": openenv and str(openenv), "engine": engine, "size": size}
    given |= {"env": env, "products": products, "arms": arms, "seeds": seeds, "rounds": rounds}
    given |= {"tasks": tasks, "file": file, "settings": settings, "turns": turns}
    given |= {"partner": partner, "partner_format": partner_format}
    options = {option: value for option, value in given.items() if value is not None}
    for option, owners in map(OPTIONS.__getitem__, options):
        if name not in owners:
            raise typer.BadParameter(f"{option} is an option of bench {', bench '.join(owners)}")
    if name == "env" and env not in (None, *STEPS):
        raise typer.BadParameter(f"--env {env}: bench env has {', '.join(STEPS)}")
    if products is not None and env != "webshop":
        raise typer.BadParameter("--products is an option of bench env --env webshop")
    import_module(f"agentevol.cli.benchmarks.{name}").main(json=json, **options)
