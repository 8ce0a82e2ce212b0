"""Location of the table of feedback: beside the table of trajectories that it is about.

| trajectories | feedback |
|---|---|
| `runs/first/trajectories` | `runs/first/feedback` |
| `data/shown` | `data/shown-feedback` |
| `s3://bucket/runs/a` | `s3://bucket/runs/a-feedback` |
"""

from pathlib import Path

from agentgym_store.location import Place

TRAJECTORIES, FEEDBACK = "trajectories", "feedback"


def feedback_of(table: Path | str) -> str:
    """Path or URL of the feedback on a table of trajectories. Raises `StoreError` for names that a table
    cannot have.
    """
    name = Place.of(table).name
    parent, slash, last = name.rpartition("/")
    return f"{parent}{slash}{FEEDBACK}" if last == TRAJECTORIES else f"{name}-{FEEDBACK}"


def is_feedback(folder: Path) -> bool:
    """True for the folder of a table of feedback, by its name and the table beside it."""
    if folder.name == FEEDBACK:
        return (folder.with_name(TRAJECTORIES) / "_delta_log").is_dir()
    table = folder.name.removesuffix(f"-{FEEDBACK}")
    return table not in ("", folder.name) and (folder.with_name(table) / "_delta_log").is_dir()
