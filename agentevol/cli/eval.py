"""`agentevol eval`: how good a model is."""

from typing import Annotated, Literal

import typer

from agentevol.cli.output import AsJson, print_json


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command("eval")(evaluate)


def evaluate(
    model: Annotated[
        str,
        typer.Option(
            help="starter, a model's or run's folder, owner/name of the Hugging Face hub, or expert, random,"
            " idle, spray."
        ),
    ] = "starter",
    env: Annotated[str, typer.Option(help="The environment.")] = "alfworld",
    split: Annotated[str, typer.Option(help="Whose tasks are played.")] = "test",
    difficulty: Annotated[str | None, typer.Option(help="Only tasks of this level.")] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="So many tasks of the split, evenly spread.")
    ] = None,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Actions in an episode, at most.")] = None,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.0,
    max_new_tokens: Annotated[
        int, typer.Option(min=1, help="Tokens that a model says in a turn, at most.")
    ] = 16,
    seed: Annotated[int, typer.Option(help="Seed of worlds and samples.")] = 0,
    action_format: Annotated[
        Literal["plain", "react"], typer.Option("--format", help="How the model writes actions.")
    ] = "plain",
    url: Annotated[
        str | None, typer.Option(help="A server that runs already; default: one is started.")
    ] = None,
    chat_template_kwarg: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE: a variable of the chat template, such as enable_thinking=false."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Play a split with one model and print success, reward, turns and tokens with intervals.

    Example: agentevol eval --model expert --env alfworld --split test --episodes 50
    """
    from collections.abc import Sequence

    from rich.console import Console

    from agentevol.config.run import assignments
    from agentevol.config.sections import EnvironmentConfig
    from agentevol.loop.evaluate import summarise
    from agentevol.progress import Progress, evaluation_table
    from agentevol.trial import trial
    from agentgym_store.records import Trajectory

    progress = Progress(Console(highlight=False, stderr=True))
    with progress.playing_once(f"{model} on {env}/{split}") as started:
        played: Sequence[Trajectory] = trial(
            model,
            EnvironmentConfig(name=env, max_turns=max_turns, format=action_format, url=url),
            split,
            difficulty=difficulty,
            episodes=episodes,
            temperature=temperature,
            max_new_tokens=max_new_tokens,
            seed=seed,
            started=started,
            chat_template_kwargs=assignments(chat_template_kwarg or []),
        )
    summary = summarise(played, split)
    if json:
        print_json({"model": model, "env": env, **summary.model_dump(mode="json")})
    else:
        Console(highlight=False).print(evaluation_table(model, summary))
    if summary.n == 0:
        raise typer.Exit(1)
