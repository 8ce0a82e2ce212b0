"""Command line `agentevol`. Each command group is a module; it parses, calls one function, and prints.

Every module named in `MODULES` has a function `register(app)`. It imports nothing heavy at the top, so that
`agentevol --help` is quick: torch, ray, polars or an environment load when the command that needs them runs.
"""

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
import typer.core

from agentevol.cli.console.errors import failure

MODULES = (
    "run",
    "train",
    "eval",
    "serve",
    "judge",
    "compare",
    "report",
    "envs",
    "data",
    "trajectories",
    "feedback",
    "ui",
    "starter",
    "new",
    "check",
    "bench",
    "doctor",
)
"""Command groups in the order of `--help`."""


class InOrder(typer.core.TyperGroup):
    """Group that lists commands in the order of `MODULES`, both groups and single commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names for `--help`."""
        return sorted(super().list_commands(ctx), key=MODULES.index)


app = typer.Typer(
    cls=InOrder,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from agentevol.core.version import __version__

        print(f"agentevol {__version__}")
        raise typer.Exit


@app.callback()
def agentevol(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Agents that evolve by exploring environments and learning from what worked.

    Example: agentevol run --iters 5
    """


for name in MODULES:
    import_module(f"agentevol.cli.{name}").register(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 for success, 1 for failure, 2 for misuse, 130 when interrupted.

    An error is one line on stderr; with `--debug`, anywhere among the arguments, its traceback comes first.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        code: object = app(
            args=[argument for argument in given if argument != "--debug"],
            prog_name="agentevol",
            standalone_mode=False,
        )
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output closed, as in `agentevol ... | head`
        sys.stderr.close()
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as cause:  # noqa: BLE001 - a user sees one line
        if debug:
            traceback.print_exc()
        line, status = failure(cause)
        print(line, file=sys.stderr)
        sys.exit(status)
    sys.exit(code if isinstance(code, int) else 0)
