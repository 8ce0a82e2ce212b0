"""The table of the episodes that people play."""

from collections.abc import Sequence
from pathlib import Path

from agentevol.ui.library import kind_of
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where
from agentgym_store.urls import is_url

FOLDER = "human"
"""Folder of the table, beside the runs."""


def table_beside(paths: Sequence[Path | str]) -> Path | str:
    """Place of the table: `human/` in the first folder of runs, or the first table, or beside the first run.

    > table_beside([Path("runs")])
    Path("/.../runs/human")
    """
    places = [path if isinstance(path, str) and is_url(path) else Path(path).absolute() for path in paths]
    kinds = {place: "table" if isinstance(place, str) else kind_of(place) for place in places}
    for place in places:
        if kinds[place] is None and isinstance(place, Path):
            return place / FOLDER
    for place in places:
        if kinds[place] == "table":
            return place
    first = places[0] if places else Path("runs", "_").absolute()
    return Path(first).parent / FOLDER


def keep(table: Path | str, episode: Trajectory) -> Trajectory:
    """Append an episode, as the next attempt at its task. Raises `StoreError`.

    An episode that is there already is not appended again.
    """
    store = Store.open(table)
    of_task = Where(
        run=episode.run,
        purpose=episode.purpose,
        env=episode.env,
        split=episode.split,
        task_ids=[episode.task_id],
    )
    kept = episode.model_copy(update={"attempt": store.scan(of_task).collect().height})
    store.append([kept], commit={"run": episode.run, "episode": episode.id})
    return kept
