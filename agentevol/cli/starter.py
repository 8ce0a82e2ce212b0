"""`agentevol starter`: rebuild the policy that runs begin with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(no_args_is_help=True, help="The small policy that runs begin with.")


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="starter")


Environment = Literal["alfworld", "webshop"]


@app.command()
def build(
    env: Annotated[Environment, typer.Option(help="The world that it is for.")] = "alfworld",
    out: Annotated[Path, typer.Option(help="A new folder for the model.")] = Path("starter"),
    scale: Annotated[
        float, typer.Option(min=0.0001, help="Share of the recipe's demonstrations to use.")
    ] = 1.0,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of demonstrations and weights.")] = 0,
) -> None:
    """Train the starter policy from nothing on demonstrations; the full recipe takes about a quarter of
    an hour on two cores, that of WebShop three quarters.

    Example: agentevol starter build --out starters/tiny --scale 0.01

    Example: agentevol starter build --env webshop --out starters/shop
    """
    from dataclasses import replace

    from agentevol.progress import Progress
    from agentevol.starter.recipe import build
    from agentevol.starter.recipes import RECIPES

    recipe = RECIPES[env]

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
        report = build(recipe, out, step)
    figures = report.metrics
    progress.say(
        f"{out}: {figures['rows']:.0f} demonstrations, {figures['tokens_read']:.0f} tokens,"
        f" loss {figures['loss_last']:.3f}, {figures['seconds']:.0f} s"
    )
    progress.say(f"try it: agentevol eval --env {env} --model {out} --difficulty small --episodes 100")
