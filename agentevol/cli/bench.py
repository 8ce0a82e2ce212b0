"""`agentevol bench`: benchmarks, each with its baseline."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentevol.cli.console.output import AsJson

app = typer.Typer(
    no_args_is_help=True, help="Measure a part of agentevol beside an alternative, and print the ratio."
)


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="bench")


Seeds = Annotated[int | None, typer.Option(min=1, help="Trainings of each arm, 1 by default.")]
File = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Keep outcomes in this file, and go on from it.")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Trials at a time, each in a process of its own; 1 by default.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="KEY=VALUE for all arms, as runs have it; may be repeated."),
]
Steps = Literal["alfworld", "assistant", "games", "webshop"]


@app.command()
def aml(
    env: Annotated[str | None, typer.Option(help="Where policies talk, social by default.")] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            help="Names with commas, or all: bc, bc-mode-1 to bc-mode-4, sft, grpo, ampo, mode-1 to mode-4;"
            " bc, grpo and ampo by default."
        ),
    ] = None,
    seeds: Seeds = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of a training, 2 by default.")] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Held-out tasks of each play, 36 by default.")
    ] = None,
    file: File = None,
    settings: Settings = None,
    jobs: Jobs = None,
    partner: Annotated[
        str | None,
        typer.Option(
            help="Also play beside this model, once in each seat: a folder, openai:NAME of an endpoint, or a"
            " script, as for eval."
        ),
    ] = None,
    partner_format: Annotated[
        str | None, typer.Option(help="Format of that model's messages, plain by default.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Compare AMPO with its baselines: goals, tokens and modes, in self-play and beside partners.

    Example: agentevol bench aml --arms all --seeds 3 --rounds 10 --tasks 300 --file aml.json
    """
    given = {"env": env, "arms": arms, "seeds": seeds, "rounds": rounds, "tasks": tasks, "file": file}
    seat = {"partner": partner, "partner_format": partner_format}
    _measure("aml", json, **given, **seat, settings=settings, jobs=jobs)


@app.command()
def rlhf(
    env: Annotated[
        str | None, typer.Option(help="Questions: questions by default, or questions:FILE.")
    ] = None,
    arms: Annotated[
        str | None,
        typer.Option(
            help="Names with commas, or all: sft, rlhf, grpo, dpo, adpo, pushed, stopped; the first three by"
            " default."
        ),
    ] = None,
    seeds: Seeds = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of a training, 4 by default.")] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Held-out questions, 200 by default.")] = None,
    file: File = None,
    settings: Settings = None,
    jobs: Jobs = None,
    json: AsJson = False,
) -> None:
    """Compare RLHF with GRPO, DPO and ADPO on the same questions, and push a policy against its reward model.

    Example: agentevol bench rlhf --arms all --seeds 3 --rounds 12 --tasks 250 --file rlhf.json
    """
    given = {"env": env, "arms": arms, "seeds": seeds, "rounds": rounds, "tasks": tasks, "file": file}
    _measure("rlhf", json, **given, settings=settings, jobs=jobs)


@app.command()
def evolution(
    experiment: Annotated[
        Literal["feedback", "self-judgement", "population", "mixed"], typer.Argument(help="Which experiment.")
    ],
    seeds: Seeds = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Rounds of a training, 4 by default.")] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Held-out tasks of each measurement, 100 by default.")
    ] = None,
    file: File = None,
    settings: Settings = None,
    jobs: Jobs = None,
    json: AsJson = False,
) -> None:
    """Compare ways of learning with a control.

    Example: agentevol bench evolution population --seeds 3 --file population.json
    """
    given = {"seeds": seeds, "rounds": rounds, "tasks": tasks, "file": file, "settings": settings}
    _measure("evolution", json, experiment=experiment, jobs=jobs, **given)


@app.command()
def baselines(
    names: Annotated[list[str] | None, typer.Argument(help="Environments.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All environments of the registry.")] = False,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks of each split, 50 by default.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Environments at a time, each in a process of its own; 1 by default."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Score players without a model: the expert, random, empty and sprayed actions.

    Example: agentevol bench baselines maze wordle --tasks 20
    """
    _measure("baselines", json, names=names, every=every or None, tasks=tasks, jobs=jobs)


@app.command()
def env(
    env: Annotated[Steps, typer.Option(help="Whose steps to measure.")] = "alfworld",
    products: Annotated[
        int | None,
        typer.Option(min=100, help="Of webshop: generated products; 1,000 and 100,000 by default."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure an environment's steps in process.

    Example: agentevol bench env --env webshop --products 1000
    """
    if products is not None and env != "webshop":
        raise typer.BadParameter("--products is an option of --env webshop")
    _measure("env", json, env=env, products=products)


@app.command()
def serve(
    openenv: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="A Python that has openenv==0.10.0.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(help="Measure the steps of this environment's expert alone; may be repeated."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure steps through the server, beside OpenEnv if it is installed.

    Example: agentevol bench serve --json

    Example: agentevol bench serve --env textcraft --env babyai
    """
    _measure("serve", json, openenv_python=openenv and str(openenv), envs=env)


@app.command()
def rollout(
    engine: Annotated[
        Literal["embedded", "vllm"] | None,
        typer.Option(help="The engine, embedded by default; vllm has to be installed."),
    ] = None,
    size: Annotated[
        Literal["small", "large"] | None,
        typer.Option(help="With vllm: a model of 54 million weights (by default) or of 2 million."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure sampling of episodes.

    Example: agentevol bench rollout --json
    """
    _measure("rollout", json, engine=engine, size=size)


@app.command()
def learn(json: AsJson = False) -> None:
    """Measure training, beside TRL if it is installed.

    Example: agentevol bench learn --json
    """
    _measure("learn", json)


@app.command()
def store(
    turns: Annotated[
        int | None, typer.Option(min=1, help="Turns of the generated table, 1,000,000 by default.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure the table of trajectories, beside plain Parquet.

    Example: agentevol bench store --turns 100000
    """
    _measure("store", json, turns=turns)


@app.command()
def feedback(
    opinions: Annotated[
        int | None, typer.Option(min=100, help="Generated opinions, 100,000 by default.")
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, help="Turns of the generated table, 1,000,000 by default.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Measure opinions: append, aggregation, join with the table of trajectories.

    Example: agentevol bench feedback --opinions 10000 --turns 100000
    """
    _measure("feedback", json, opinions=opinions, turns=turns)


@app.command()
def startup(json: AsJson = False) -> None:
    """Measure the start of commands, beside their budgets.

    Example: agentevol bench startup --json
    """
    _measure("startup", json)


def _measure(name: str, json: bool, **options: object) -> None:
    """Run a benchmark with the options that were given."""
    given = {option: value for option, value in options.items() if value is not None}
    import_module(f"agentevol.cli.benchmarks.{name}").main(json=json, **given)


NAMES = tuple(command.callback.__name__ for command in app.registered_commands if command.callback)
"""Benchmarks by name: modules of `agentevol.cli.benchmarks`."""
