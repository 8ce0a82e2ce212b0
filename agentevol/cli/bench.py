"""`agentevol bench`: the benchmarks, each beside what it is compared with."""

from importlib import import_module
from typing import Annotated, Literal

import typer

from agentevol.cli.output import AsJson

Name = Literal["env", "rollout", "learn", "store", "startup"]


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(bench)


def bench(name: Annotated[Name, typer.Argument(help="What to measure.")], json: AsJson = False) -> None:
    """Measure a part of agentevol beside an alternative, and print both and the ratio.

    Example: agentevol bench startup --json
    """
    import_module(f"agentevol.bench.{name}").main(json=json)
