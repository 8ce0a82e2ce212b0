"""Making a finished folder the catalogue that counts, at once: `drafted` and `published`.

A draft is its process's alone and goes with it; what an import that was killed left is removed by the next.
"""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from agentgym_envs.webshop.catalogues.stored import CatalogueError
from agentgym_envs.webshop.official.library import MANIFEST, NAMES, Entry, Manifest, imported

_DRAFT = "draft-"


@contextmanager
def drafted(root: Path) -> Generator[Path]:
    """A new folder below `root`, removed at the end if it has not been published."""
    root.mkdir(parents=True, exist_ok=True)
    with _alone(root):
        _sweep(root)
        folder = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=root))
        held = os.open(folder, os.O_RDONLY)
        flock(held, LOCK_EX)
    try:
        yield folder
    finally:
        os.close(held)
        shutil.rmtree(folder, ignore_errors=True)


def published(root: Path, draft: Path, name: str, entry: Entry) -> None:
    """Move `entry.folder`, which is in the draft, beside it. The catalogue of that name before is removed:
    who has its files open keeps them.
    """
    with _alone(root):
        manifest = Manifest(catalogues={**_sound(root), name: entry})
        text = root / f"{MANIFEST}.new"
        text.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        (draft / entry.folder).rename(root / entry.folder)
        text.replace(root / MANIFEST)
        _sweep(root)


@contextmanager
def _alone(root: Path) -> Generator[None]:
    """One at a time, of all processes."""
    with (root / ".lock").open("w") as file:
        flock(file, LOCK_EX)
        yield


def _sound(root: Path) -> dict[str, Entry]:
    try:
        return imported(root.parent)
    except CatalogueError:
        return {}


def _sweep(root: Path) -> None:
    """Remove folders that no manifest names and nobody is writing; the lock is held."""
    try:
        kept = {entry.folder for entry in imported(root.parent).values()}
    except CatalogueError:  # what it named may be sound: a person may want to look
        return
    for folder in root.iterdir():
        named = folder.name.startswith(tuple(f"{name}-" for name in NAMES))
        if (named and folder.name not in kept) or (folder.name.startswith(_DRAFT) and _left(folder)):
            shutil.rmtree(folder, ignore_errors=True)


def _left(draft: Path) -> bool:
    """Whether the process that was writing it is gone."""
    try:
        held = os.open(draft, os.O_RDONLY)
    except FileNotFoundError:  # it has just removed it itself
        return False
    try:
        flock(held, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(held)
    return True
