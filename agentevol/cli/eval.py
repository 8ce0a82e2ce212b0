"""`agentevol eval`: evaluation of a model on a split."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.output import AsJson, print_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from agentevol.engines.openai import Usage
    from agentevol.loop.report.pass_rates import PassRate
    from agentevol.runs.evaluation import Trial


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command("eval")(evaluate)


Model = Annotated[
    str,
    typer.Option(
        help="starter, a model's or run's folder, owner/name of the Hugging Face hub, vllm:FOLDER,"
        " openai:NAME of an endpoint, or expert, random, idle, spray."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...",
        help="Settings as a run has them: engine.KEY=VALUE and environment.options.KEY=VALUE.",
    ),
]
Env = Annotated[str, typer.Option(help="The environment.")]
Split = Annotated[str, typer.Option(help="Split whose tasks are played.")]
Difficulty = Annotated[str | None, typer.Option(help="Only tasks of this level.")]
Episodes = Annotated[int | None, typer.Option(min=1, help="Number of tasks, evenly spread over the split.")]
Repeats = Annotated[
    int, typer.Option(min=1, help="Episodes of each task, with other seeds; more than 1 give pass^k.")
]
MaxTurns = Annotated[int | None, typer.Option(min=1, help="Maximum actions of an episode.")]
Temperature = Annotated[float, typer.Option(min=0, help="0 is greedy.")]
MaxNewTokens = Annotated[
    int | None, typer.Option(min=1, help="Tokens of a turn; default as in runs, of an endpoint 1,024.")
]
Seed = Annotated[int, typer.Option(help="Seed of environments and samples.")]
Format = Annotated[
    str,
    typer.Option(
        "--format", help="Format in which the model writes actions: plain, react, modes, or module:attribute."
    ),
]
Url = Annotated[str | None, typer.Option(help="A running server; default: one is started.")]
Seats = Annotated[
    int | None,
    typer.Option(min=1, help="Seats that the model plays; 1: beside the environment's own partners."),
]


def evaluate(
    model: Model = "starter",
    settings: Settings = None,
    env: Env = "alfworld",
    split: Split = "test",
    difficulty: Difficulty = None,
    episodes: Episodes = None,
    repeats: Repeats = 1,
    max_turns: MaxTurns = None,
    temperature: Temperature = 0.0,
    max_new_tokens: MaxNewTokens = None,
    seed: Seed = 0,
    action_format: Format = "plain",
    url: Url = None,
    seats: Seats = None,
    json: AsJson = False,
) -> None:
    """Play a split with one model and print success, reward, turns and tokens with intervals.

    Example: agentevol eval --model starter engine=vllm engine.url=http://host:8000

    Example: agentevol eval --model starter --env tau-telecom --repeats 4 --temperature 1

    Example: agentevol eval --model starter --env assistant environment.options.all_tools=true

    Example: OPENAI_API_KEY=... agentevol eval --model openai:NAME --env guess --episodes 20
    """
    from agentevol.config.sections import EnvironmentConfig
    from agentevol.core.action_formats.registry import ACTION_FORMATS
    from agentevol.loop.report.pass_rates import pass_rates
    from agentevol.loop.state.progress import Progress, evaluation_table
    from agentevol.runs.evaluation import trial

    progress = Progress(_console(stderr=True))
    with progress.playing_once(f"{model} on {env}/{split}") as started:
        form = ACTION_FORMATS.checked(action_format)
        played = trial(
            model,
            EnvironmentConfig(name=env, max_turns=max_turns, format=form, url=url, seats=seats),
            split,
            difficulty=difficulty,
            episodes=episodes,
            temperature=temperature,
            seed=seed,
            started=started,
            engine=settings or [],
            max_new_tokens=max_new_tokens,
            repeats=repeats,
        )
    for remark in played.remarks():
        progress.say(remark)
    rates = pass_rates(played.episodes, repeats) if repeats > 1 else {}
    summary = played.summary(split)
    if json:
        figures = _figures(rates, played)
        print_json({"model": model, "env": env, **summary.model_dump(mode="json"), **figures})
    else:
        _print(evaluation_table(model, summary), rates, played.usage)
    if summary.n == 0:
        raise typer.Exit(1)


def _figures(rates: Mapping[str, "PassRate"], played: "Trial") -> dict[str, Any]:
    """What stands beside the summary, as JSON values."""
    figures = {"options": played.options, **{name: rate._asdict() for name, rate in rates.items()}}
    return figures if played.usage is None else figures | {"usage": played.usage.figures()}


def _print(table: "Table", rates: Mapping[str, "PassRate"], usage: "Usage | None") -> None:
    _console().print(table)
    if rates:
        told = (f"{name} {one.rate:.3f} [{one.low:.3f}, {one.high:.3f}]" for name, one in rates.items())
        print(", ".join(told))
    if usage is not None:
        print(usage.text())


def _console(*, stderr: bool = False) -> "Console":
    from rich.console import Console

    return Console(highlight=False, stderr=stderr)
