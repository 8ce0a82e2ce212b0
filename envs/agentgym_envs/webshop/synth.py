"""The generated catalogue on disk: made once, then opened by all processes."""

import fcntl
import os
import tempfile
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


def catalogue(home: Path) -> StoredCatalogue:
    """Opened; made first where it is not there or is damaged, which takes seconds.

    Where `home` cannot be written it is kept in the system's folder for temporary files.
    """
    root = home / "webshop"
    if not _is_writable(root):
        root = Path(tempfile.gettempdir()) / "agentevol-webshop"
    folder = root / generator.VERSION
    try:
        return StoredCatalogue.open(folder)
    except CatalogueError:
        root.mkdir(parents=True, exist_ok=True)
    with (root / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return StoredCatalogue.open(folder)  # by another process meanwhile
        except CatalogueError:
            return make(folder)


def make(folder: Path, products: int = 5_000, seed: int = 0) -> StoredCatalogue:
    """Generate and write one."""
    made = generator.generate(products, seed)
    wishes = sorted(made.wishes, key=lambda wish: wish.id)  # a hash, so that the first ones are a fair sample
    return write(folder, ABOUT, cleaned(made.rows, made.annotations), made.prices, {NAME: wishes})


def _is_writable(folder: Path) -> bool:
    """Whether the folder is, or could be made."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    return os.access(there, os.W_OK)
