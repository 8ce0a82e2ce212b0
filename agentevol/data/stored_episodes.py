"""Access to stored episodes: in a run's folder, in a table, or in an export of one."""

import tomllib
from pathlib import Path

from agentevol.core.errors import ConfigError
from agentgym_store.jsonl import import_jsonl
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where
from agentgym_store.urls import is_url

RECORD = b'"initial_observation"'
"""Marker in the first line of an export of whole episodes; chat data sets do not have it."""


def table_of(run: Path) -> Path | str | None:
    """Location of the table of the run in this folder: the folder itself, or the URL in its configuration.

    None where there is no table of a run.
    """
    config = run / "config.toml"
    url = tomllib.loads(config.read_text("utf-8")).get("table", "") if config.is_file() else ""
    inner = run / "trajectories"
    return url if is_url(url) else inner if inner.is_dir() else None


def open_table(place: Path | str) -> Store:
    """Open the table of the run in this folder, or the one in this folder or at this URL. Raises
    `StoreError`.
    """
    found = table_of(place) if isinstance(place, Path) else None
    return Store.open(found or place, create=False)


def episodes_in(data: Path | str, where: Where) -> list[Trajectory] | None:
    """Read the episodes in a run's folder or table (filtered by `where`), or in an export; None for a file
    without any. Raises `ConfigError` for a missing path, `StoreError`.
    """
    if isinstance(data, str):
        return list(open_table(data).trajectories(where))
    if not data.exists():
        raise ConfigError(f"no data at {data}: neither a run, nor a table, nor a file")
    if data.is_dir():
        return list(open_table(data).trajectories(where))
    with data.open("rb") as stream:
        holds = RECORD in stream.readline()
    return list(import_jsonl(data)) if holds else None
