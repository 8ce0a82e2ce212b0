"""Runs and tables under the paths that `agentevol ui` was given.

    Library([Path("runs")]).sources()  -> [Source(key="guess-3f9a1c", name="guess", ...)]

A page names a source by its key; only what lies under the given paths has one.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from agentevol.ui.errors import NotFound
from agentgym_store.feedback.location import is_feedback
from agentgym_store.urls import is_url

DEPTH = 4
"""Levels of folders that are searched below a given path."""
MOST_FOLDERS = 5_000
"""Folders that are looked at below one path."""


@dataclass(frozen=True)
class Source:
    """A run or a table."""

    key: str
    """Name in addresses; a function of the path."""
    name: str
    """Path below the given one, for people."""
    place: Path | str
    kind: Literal["run", "table"]

    @property
    def is_run(self) -> bool:
        """True for the folder of a run."""
        return self.kind == "run"


class Library:
    """Finder of sources: what lies under `paths`, and one more `table`.

    The folders are searched again for each list: runs come and go.
    """

    def __init__(self, paths: Sequence[Path | str], table: Path | str | None = None) -> None:
        self.paths = tuple(paths)
        self._places = (*self.paths, *(() if table is None else (table,)))
        self._known: dict[str, Source] = {}

    def sources(self) -> list[Source]:
        """All sources, by name."""
        found: dict[Path | str, Source] = {}
        for source in (source for path in self._places for source in _sources(path)):
            found.setdefault(source.place, source)
        self._known = {source.key: source for source in found.values()}
        return sorted(found.values(), key=lambda source: source.name)

    def at(self, place: Path | str) -> Source | None:
        """The source at a place; None where there is none."""
        return next((source for source in self.sources() if source.place == place), None)

    def find(self, key: str) -> Source:
        """The source of a key; raises `NotFound`."""
        if key not in self._known:
            self.sources()
        if key not in self._known:
            places = ", ".join(map(str, self.paths))
            raise NotFound(
                f"There is no run or table “{key}” under {places}.",
                "It may have been moved or deleted. The list of runs shows what is there now.",
            )
        return self._known[key]


def _sources(path: Path | str) -> Iterator[Source]:
    if isinstance(path, str) and is_url(path):
        yield _source(path, path.rstrip("/").rpartition("/")[2], "table")
        return
    root = Path(path).absolute()
    if kind := kind_of(root):
        yield _source(root, root.name, kind)
        return
    for folder, kind in _below(root):
        yield _source(folder, folder.relative_to(root).as_posix(), kind)


def _below(root: Path) -> Iterator[tuple[Path, Literal["run", "table"]]]:
    """Runs and tables below a folder; neither links nor the insides of a run are followed."""
    waiting, looked = [(root, 0)], 0
    while waiting and looked < MOST_FOLDERS:
        folder, depth = waiting.pop()
        for child in _folders(folder):
            looked += 1
            if kind := kind_of(child):
                yield child, kind
            elif depth + 1 < DEPTH:
                waiting.append((child, depth + 1))


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [folder / name for name in sorted(names) if not name.startswith((".", "_"))]


def kind_of(folder: Path) -> Literal["run", "table"] | None:
    """`run` or `table`; None for another folder."""
    if (folder / "config.toml").is_file():
        return "run"
    is_table = (folder / "_delta_log").is_dir() and not is_feedback(folder)
    return "table" if is_table else None


def _source(place: Path | str, name: str, kind: Literal["run", "table"]) -> Source:
    digest = sha256(os.fsencode(str(place))).hexdigest()[:6]
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[-60:] or "table"
    return Source(f"{slug}-{digest}", os.fsencode(name).decode("utf-8", "replace"), place, kind)
