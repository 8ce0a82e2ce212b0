"""`agentevol envs`: list, serve, check and describe environments."""

import typer

from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.envs.attack import attack
from agentevol.cli.envs.check import check
from agentevol.cli.envs.compose import compose
from agentevol.cli.envs.gateway import gateway
from agentevol.cli.envs.openenv import openenv
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


app.command("check")(check)


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
