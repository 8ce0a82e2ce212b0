"""Atomic publication of a finished catalogue folder: `drafted` and `published`.

A draft belongs to its process and is removed with it; the drafts of a killed import are removed by the next.
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
    """A new folder below `root`, removed at exit if it has not been published."""
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
    """Move `entry.folder` out of the draft. The previous catalogue of that name is removed; processes with
    open files keep them.
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
    """Lock that excludes all other processes."""
    with (root / ".lock").open("w") as file:
        flock(file, LOCK_EX)
        yield


def _sound(root: Path) -> dict[str, Entry]:
    try:
        return imported(root.parent)
    except CatalogueError:
        return {}


def _sweep(root: Path) -> None:
    """Remove folders that no manifest names and no process is writing; the lock is held."""
    try:
        kept = {entry.folder for entry in imported(root.parent).values()}
    except CatalogueError:  # its folders may be intact: a person may want to look
        return
    for folder in root.iterdir():
        named = folder.name.startswith(tuple(f"{name}-" for name in NAMES))
        if (named and folder.name not in kept) or (folder.name.startswith(_DRAFT) and _left(folder)):
            shutil.rmtree(folder, ignore_errors=True)


def _left(draft: Path) -> bool:
    """True if the process that was writing it has exited."""
    try:
        held = os.open(draft, os.O_RDONLY)
    except FileNotFoundError:  # its process has just removed it
        return False
    try:
        flock(held, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(held)
    return True
