"""Opinions that stand, of chosen sources, and the split whose episodes they may teach."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentevol.core.errors import ConfigError
from agentevol.data.stored_episodes import table_of
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.urls import is_url

TRAIN = "train"
NULL = "null"
"""None in a run's configuration, which is TOML."""


def feedback_on(place: Path | str) -> FeedbackTable:
    """The table of feedback on the episodes of a run in this folder, or of the table here.

    Raises `ConfigError` for a file, and `StoreError`.
    """
    if isinstance(place, Path) and not place.is_dir():
        raise ConfigError(f"{place} is no run and no table: feedback lies beside the table of trajectories")
    found = table_of(place) if isinstance(place, Path) and not is_url(place) else None
    return FeedbackTable.beside(found or place)


def opinions_of(records: Iterable[Feedback], sources: Iterable[str]) -> list[Feedback]:
    """Those that stand, of the named sources: `human` is all people, `human:Anna` is one."""
    wanted = set(sources)
    return [one for one in standing(records) if wanted & {one.source, one.source_kind}]


def check_sources(records: Iterable[Feedback], names: Iterable[str]) -> None:
    """Raise `ConfigError` for a named source, such as `human:Anna`, that has said nothing."""
    known = {one.source for one in records}
    for name in names:
        if ":" in name and name not in known:
            told = ", ".join(sorted(known)) or "nobody"
            raise ConfigError(f"feedback: there is no opinion of {name!r}; there are those of {told}")


def trained_split(place: Path | str) -> str:
    """Split that the run in this folder explores: episodes of other splits are held out. `train` for a
    table.
    """
    found = str(_section(place, "explore").get("split") or NULL)
    return TRAIN if found == NULL else found


def action_format_of(place: Path | str) -> str:
    """Action format of the run in this folder; `plain` for a table."""
    return str(_section(place, "environment").get("format") or "plain")


def _section(place: Path | str, name: str) -> dict[str, Any]:
    try:
        text = (place / "config.toml").read_text("utf-8") if isinstance(place, Path) else ""
        found = tomllib.loads(text).get(name, {})
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
