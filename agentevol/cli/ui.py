"""`agentevol ui`: the web pages."""

from pathlib import Path
from typing import Annotated

import typer

PORT = 8600
"""The same as `agentevol.ui.settings.PORT`, whose package is imported when the command runs."""


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(ui)


Paths = Annotated[
    list[str] | None,
    typer.Argument(help="Run folders, tables, folders that contain them, or URLs of tables; default: runs."),
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")]
InsecureNoAuth = Annotated[
    bool,
    typer.Option("--insecure-no-auth", help="Allow an address that other machines reach: all may use it."),
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="Nobody can play, rate or correct.")]


def ui(
    paths: Paths = None,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    insecure_no_auth: InsecureNoAuth = False,
    read_only: ReadOnly = False,
) -> None:
    """Show runs and episodes in a browser: live progress, curves, episodes turn by turn, comparisons.

    Prints `ready http://HOST:PORT`. The pages request nothing from other servers.

    Example: agentevol ui

    Example: agentevol ui runs/first --port 9000

    On the page of an episode people rate, flag and correct it. The page Feedback of the run then has the
    commands that learn from what they said.
    """
    from agentevol.core.errors import ConfigError
    from agentevol.ui.serve import serve
    from agentgym_store.urls import named

    places = [named(path) for path in paths or ["runs"]]
    missing = [place for place in places if isinstance(place, Path) and not place.exists()] if paths else []
    if missing:
        raise ConfigError(
            f"{missing[0]} does not exist; name a run folder, a table, or a folder that contains them"
        )
    raise typer.Exit(serve(places, host, port, anyone=insecure_no_auth, read_only=read_only))
