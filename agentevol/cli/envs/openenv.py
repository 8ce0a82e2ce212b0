"""`agentevol envs openenv`: the manifest of an environment for OpenEnv's tools."""

from pathlib import Path
from typing import Annotated

import typer


def openenv(
    name: Annotated[str, typer.Argument(help="An environment.")],
    folder: Annotated[Path, typer.Argument(file_okay=False, help="Folder to write; created if needed.")],
) -> None:
    """Write the `openenv.yaml` of an environment, for OpenEnv's own tools.

    Example: agentevol envs openenv guess ./guess-openenv
    """
    from agentgym_envs.registry import make
    from agentgym_server.dialects.openenv.manifest import openenv_yaml

    path = folder / "openenv.yaml"
    text = openenv_yaml(name, make(name))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(path)
