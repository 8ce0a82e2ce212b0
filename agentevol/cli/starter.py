"""`agentevol starter`: training of starter policies."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    pass

app = typer.Typer(no_args_is_help=True, help="Build starter policies.")


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="starter")


Env = Annotated[
    str, typer.Option(help="Environment of the starter policy; `many` for one policy in several of them.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="A new folder for the model; default: where runs in this environment look for it, or"
        " ./starter where the package has a starter of its own, and for other formats than plain and modes."
    ),
]
Scale = Annotated[float, typer.Option(min=0.0001, help="Share of the recipe's demonstrations to use.")]
Threads = Annotated[int, typer.Option(min=1, help="CPU threads.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of demonstrations and weights.")]
Format = Annotated[
    str,
    typer.Option(
        "--format", help="Format in which it writes actions: plain, react, modes, or module:attribute."
    ),
]


@app.command()
def build(
    env: Env = "alfworld",
    out: Out = None,
    scale: Scale = 1.0,
    threads: Threads = 2,
    seed: Seed = 0,
    action_format: Format = "plain",
) -> None:
    """Train a starter policy from nothing on demonstrations of the environment's player or expert.

    On two cores ALFWorld's recipe takes about a quarter of an hour, those of WebShop and the assistant three
    quarters, the general one for other environments some minutes.

    Example: agentevol starter build --out starters/tiny --scale 0.01

    Example: agentevol starter build --env webshop --out starters/shop

    Example: agentevol starter build --env many
    """
    from agentevol.core.starter_names import MODES
    from agentevol.loop.state.progress import Progress
    from agentevol.models.resolution import built_starter, shipped_starters
    from agentevol.runs.starter.build import build
    from agentevol.runs.starter.card import evaluation_command
    from agentevol.runs.starter.general_recipe import recipe_for
    from agentevol.runs.starter.recipe import scaled

    name = env if action_format == "plain" else f"{env}{MODES}" if action_format == "modes" else None
    known = name is not None and name not in shipped_starters() and ":" not in name  # or for other data
    found_by_runs = out is None and known
    place = out or (built_starter(name) if found_by_runs and name else Path("starter"))
    recipe = recipe_for(env, action_format)
    recipe = replace(
        scaled(recipe, scale), seed=seed, learn=recipe.learn.model_copy(update={"threads": threads})
    )
    progress = Progress()
    with progress.learning(0) as step:
        report = build(recipe, place, step)
    figures = report.metrics
    progress.say(
        f"{place}: {figures['sequences']:.0f} demonstrations, {figures['tokens_read']:.0f} tokens,"
        f" loss {figures['loss_last']:.3f}, {figures['seconds']:.0f} s"
    )
    is_own = name == env and not recipe.parts
    model = str(place) if not found_by_runs else "starter" if is_own else f"starter:{name}"
    for part in recipe.by_environment:
        progress.say(f"try it: {evaluation_command(part, model)} --episodes 100")
    if found_by_runs:
        preset = "" if name == env else " --preset aml"
        named = ",".join(part.environment for part in recipe.by_environment)
        progress.say(f"improve it: agentevol run{preset} env={named if recipe.parts else env}")
