"""`agentevol new`: scaffolds of small packages."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Write small packages to start from.")

Name = Annotated[str, typer.Argument(help="Name of the module, the package and the registered object.")]
Out = Annotated[Path | None, typer.Option(help="A new folder; default: ./NAME.")]


def register(parent: typer.Typer) -> None:
    """Add the group to the command line."""
    parent.add_typer(app, name="new")


@app.callback()
def new() -> None:
    """Write small packages to start from. For environments: agentevol envs new.

    Example: agentevol new algorithm my_rule
    """


@app.command()
def algorithm(name: Name, out: Out = None) -> None:
    """Write a package with a learning algorithm that passes its check.

    Example: agentevol new algorithm my_rule --out packages/my_rule
    """
    place = write("algorithm", name, out)
    print(f"install it: pip install -e {place}")
    print(f"check it: agentevol check algorithm {name}")
    print(f"train with it: agentevol run algorithm={name}")


def write(kind: str, name: str, out: Path | None) -> Path:
    """Write a scaffold and print its files; the folder."""
    from agentevol.cli.scaffolds import write_scaffold

    place = out or Path(name)
    for path in write_scaffold(kind, name, place):
        print(path)
    return place
