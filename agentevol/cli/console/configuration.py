"""Arguments of commands that take a configuration: a file, and overrides of its keys."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from agentevol.core.errors import ConfigError

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CONFIG.toml] [key.path=value]...", help="A configuration file, then overrides."),
]


def file_and_overrides(arguments: Sequence[str] | None) -> tuple[Path | None, list[str]]:
    """The file, if one is given, and the overrides. Raises `ConfigError` for several files."""
    given = arguments or []
    files = [argument for argument in given if "=" not in argument]
    if len(files) > 1:
        raise ConfigError(f"one configuration file, not {len(files)}: {', '.join(files)}")
    return Path(files[0]) if files else None, [argument for argument in given if "=" in argument]
