"""Reference of all commands as Markdown, made from their help; `make docs` writes it."""

from collections.abc import Iterator
from typing import Any

import typer

from agentevol.cli import app

INTRODUCTION = """\
# The command line

Made from the commands' own help by `make docs`; a test compares.

Every command ends with exit code 0 for success, 1 for failure, 2 for misuse and 130 when it was interrupted.
An error is one line on stderr; `--debug`, anywhere on the line, shows the traceback as well. `--json` prints
for scripts. Imported data lives under `AGENTEVOL_HOME` (default: the platform's folder for user data), runs
under `./runs` unless `--out` says otherwise.
"""


def reference() -> str:
    """The text of docs/cli.md."""
    return INTRODUCTION + "".join(_sections(typer.main.get_command(app), "agentevol"))


def commands(group: Any = None, path: str = "agentevol") -> Iterator[tuple[str, Any]]:
    """Every command with its path, groups included: `agentevol envs list` and its object."""
    command = typer.main.get_command(app) if group is None else group
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{path} {name}")


def _sections(root: Any, name: str) -> Iterator[str]:
    for path, command in commands(root, name):
        context = command.context_class(command, info_name=path, terminal_width=100, max_content_width=100)
        yield f"\n## {path}\n\n```text\n{command.get_help(context).strip()}\n```\n"


if __name__ == "__main__":
    print(reference(), end="")
