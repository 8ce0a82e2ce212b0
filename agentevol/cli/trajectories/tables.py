"""The table that a command reads, and its common options."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentgym_store.purposes import Purpose

if TYPE_CHECKING:
    from agentgym_store.store import Store, Where

Wanted = Literal["any", "none", "score", "dimensions", "comparison", "correction", "flag"]
"""`agentgym_store.feedback.about.Wanted`, which is slow to import."""
Table = Annotated[str, typer.Argument(help="A run folder, or a table of trajectories, which may be a URL.")]
Iteration = Annotated[int | None, typer.Option(min=0, help="Only this iteration.")]
WithFeedback = Annotated[
    Wanted | None,
    typer.Option(
        "--with-feedback", help="Only episodes with an opinion of this kind, of any kind, or with none."
    ),
]
OnlySplit = Annotated[str | None, typer.Option(help="Only episodes of this split.")]
EXPLORED: Purpose = "explore"
"""Purpose by default of commands about what a policy did."""
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


def with_feedback(where: "Where", path: str, wanted: "Wanted | None") -> "Where":
    """The filter, and the opinions that stand about the episodes of the table at a path or URL as a further
    condition; unchanged without `wanted`. Raises `StoreError`.
    """
    if wanted is None:
        return where
    from agentevol.data.feedback.opinions import feedback_on
    from agentgym_store.feedback.about import about
    from agentgym_store.feedback.latest import standing
    from agentgym_store.urls import named

    return about(where, standing(feedback_on(named(path)).records()), wanted)
