"""`agentevol envs`: list, serve, check and describe environments."""

from typing import Annotated

import typer

from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.envs.attack import attack
from agentevol.cli.envs.compose import compose
from agentevol.cli.envs.gateway import gateway
from agentevol.cli.envs.openenv import openenv
from agentevol.cli.envs.options import Names, chosen
from agentevol.cli.envs.serve import serve, up
from agentevol.cli.new import Name, Out, write

app = typer.Typer(no_args_is_help=True, help="List, serve and check environments.")


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="envs")


@app.command("list")
def list_environments(json: AsJson = False) -> None:
    """List the registered environments.

    Example: agentevol envs list --json
    """
    from agentgym_envs.registry import describe

    entries = describe()
    if json:
        print_json([entry.model_dump() for entry in entries])
        return
    rows = [(entry.name, entry.distribution, entry.summary) for entry in entries]
    print_table(("environment", "from", "what it is"), rows)


@app.command()
def check(
    names: Names = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to play in each split.")] = 4,
    rows: Annotated[int, typer.Option(min=1, help="Tasks to compare in each split.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the random actions.")] = 0,
    json: AsJson = False,
) -> None:
    """Hold environments against the contract; exit code 1 if one breaks it.

    Example: agentevol envs check guess
    """
    from agentgym_envs.registry import environment_class
    from agentgym_envs.testing import check_environment

    classes = [environment_class(name) for name in chosen(names)]
    reports = [
        check_environment(kind, tasks_per_split=tasks, rows_per_split=rows, seed=seed) for kind in classes
    ]
    if json:
        print_json([{"passed": report.passed, **report.model_dump()} for report in reports])
    else:
        for report in reports:
            print(f"{report.env}: {'keeps' if report.passed else 'BREAKS'} the contract")
            print("\n".join(f"  {line}" for line in report.lines()))
    if not all(report.passed for report in reports):
        raise typer.Exit(1)


@app.command()
def new(name: Name, out: Out = None) -> None:
    """Write a package with an environment that passes its check.

    Example: agentevol envs new chess --out packages/chess
    """
    place = write("environment", name, out)
    print(f"install it: pip install -e {place}")
    print(f"check it: agentevol envs check {name}")
    print(f"build a starter policy: agentevol starter build --env {name}")
    print(f"improve it: agentevol run env={name}")


app.command("attack")(attack)
app.command("up")(up)
app.command("serve")(serve)
app.command("gateway")(gateway)
app.command("compose")(compose)
app.command("openenv")(openenv)
