"""`agentevol starter`: training of starter policies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Build starter policies.")


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="starter")


@app.command()
def build(
    env: Annotated[str, typer.Option(help="Environment of the starter policy.")] = "alfworld",
    out: Annotated[
        Path | None,
        typer.Option(
            help="A new folder for the model; default: where runs in this environment look for it, or"
            " ./starter where the package has a starter of its own, and for another format than plain."
        ),
    ] = None,
    scale: Annotated[
        float, typer.Option(min=0.0001, help="Share of the recipe's demonstrations to use.")
    ] = 1.0,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of demonstrations and weights.")] = 0,
    action_format: Annotated[
        str,
        typer.Option(
            "--format", help="Format in which it writes actions: plain, react, or module:attribute."
        ),
    ] = "plain",
) -> None:
    """Train a starter policy from nothing on demonstrations of the environment's player or expert.

    On two cores ALFWorld's recipe takes about a quarter of an hour, that of WebShop three quarters, the
    general one for other environments some minutes.

    Example: agentevol starter build --out starters/tiny --scale 0.01

    Example: agentevol starter build --env webshop --out starters/shop
    """
    from dataclasses import replace

    from agentevol.loop.state.progress import Progress
    from agentevol.models.resolution import built_starter, shipped_starters
    from agentevol.runs.starter.build import build
    from agentevol.runs.starter.general_recipe import recipe_for

    found_by_runs = out is None and env not in shipped_starters() and action_format == "plain"
    place = out or (built_starter(env) if found_by_runs else Path("starter"))
    recipe = recipe_for(env, action_format)

    def scaled(counts: Mapping[str, int]) -> dict[str, int]:
        return {level: max(1, round(count * scale)) for level, count in counts.items()}

    recipe = replace(
        recipe,
        seed=seed,
        demonstrations=scaled(recipe.demonstrations),
        studies=scaled(recipe.studies),
        excerpts=scaled(recipe.excerpts),
        drills=scaled(recipe.drills),
        finds=scaled(recipe.finds),
        learn=recipe.learn.model_copy(update={"threads": threads}),
    )
    progress = Progress()
    with progress.learning(0) as step:
        report = build(recipe, place, step)
    figures = report.metrics
    progress.say(
        f"{place}: {figures['sequences']:.0f} demonstrations, {figures['tokens_read']:.0f} tokens,"
        f" loss {figures['loss_last']:.3f}, {figures['seconds']:.0f} s"
    )
    model = "starter" if found_by_runs else str(place)
    form = "" if action_format == "plain" else f" --format {action_format}"
    progress.say(f"try it: agentevol eval --env {env} --model {model} --episodes 100{form}")
    if found_by_runs:
        progress.say(f"improve it: agentevol run env={env}")
