"""Generated catalogue on disk: created once, then opened by all processes."""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from agentgym_envs.webshop import generator, nouns
from agentgym_envs.webshop.catalogues.stored import About, CatalogueError, StoredCatalogue, write
from agentgym_envs.webshop.products import cleaned

NAME = "synth"
ABOUT = About(
    name=NAME,
    nouns=nouns.NAME,
    settings={
        "generator": generator.VERSION,
        "prices": "hash of the product's id",
        "bounds": "hash of the goal's id",
        "order": "by the goal's id",
        "split": "by family of products",
    },
)


def catalogue(home: Path, seed: int = 0) -> StoredCatalogue:
    """The open catalogue; generated first if it is missing or damaged, which takes seconds.

    Each seed has its own products, of the same words. If `home` cannot be written it is stored in the
    system's folder for temporary files.
    """
    root = _root(home)
    name = f"{generator.VERSION}-{seed}" if seed else generator.VERSION
    try:
        return StoredCatalogue.open(home / "webshop" / name)
    except CatalogueError:
        folder = root / name
    with (root / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return StoredCatalogue.open(folder)  # created by another process, or before
        except CatalogueError:
            shutil.rmtree(folder, ignore_errors=True)  # processes with open files keep them
            return make(folder, seed=seed)


def make(folder: Path, products: int = 5_000, seed: int = 0) -> StoredCatalogue:
    """Generate and write a catalogue."""
    made = generator.generate(products, seed)
    wishes = sorted(made.wishes, key=lambda wish: wish.id)  # a hash, so the first ones are a fair sample
    return write(folder, ABOUT, cleaned(made.rows, made.annotations), made.prices, {NAME: wishes})


def _root(home: Path) -> Path:
    """Folder of the catalogue."""
    root = home / "webshop"
    with suppress(OSError):
        root.mkdir(parents=True, exist_ok=True)
    if os.access(root, os.W_OK):
        return root
    instead = Path(tempfile.gettempdir()) / f"agentevol-webshop-{os.getuid()}"
    instead.mkdir(mode=0o700, exist_ok=True)
    return instead
