"""The table that a command reads, and its common options."""

from typing import TYPE_CHECKING, Annotated

import typer

from agentgym_store.purposes import Purpose

if TYPE_CHECKING:
    from agentgym_store.store import Store, Where

Table = Annotated[str, typer.Argument(help="A run folder, or a table of trajectories, which may be a URL.")]
Iteration = Annotated[int | None, typer.Option(min=0, help="Only this iteration.")]
OnlyPurpose = Annotated[Purpose | None, typer.Option(help="Only episodes of this purpose.")]


def open_table(path: str) -> "Store":
    """The table at a path or URL, or the one of the run in this folder; raises `StoreError`."""
    from agentevol.data.stored_episodes import open_table
    from agentgym_store.urls import named

    return open_table(named(path))


def where_of(iteration: int | None, purpose: str | None) -> "Where":
    """Filter of episodes by these two options."""
    from agentgym_store.store import Where

    return Where(iteration=iteration, purpose=purpose)
