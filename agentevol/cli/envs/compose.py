"""`agentevol envs compose`: the Docker Compose file of all environments."""

from pathlib import Path
from typing import Annotated

import typer


def compose(
    output: Annotated[
        Path | None, typer.Option(dir_okay=False, help="File to write; standard output without.")
    ] = None,
) -> None:
    """Write the Compose file of all environments of this package: a gateway and a container for each.

    Example: agentevol envs compose --output compose.yaml
    """
    from agentgym_server.gateway.compose import text

    if output is None:
        print(text(), end="")
    else:
        output.write_text(text(), encoding="utf-8")
