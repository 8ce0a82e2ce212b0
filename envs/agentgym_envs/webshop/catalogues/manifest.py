"""Manifest of a catalogue on disk: the sizes and hashes of its arrays, one per file."""

import hashlib
import json
from pathlib import Path

from pydantic import BaseModel, ValidationError

from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.search.manifest import Flat

FORMAT = "webshop-catalogue-1"
"""Format version: changes with any change that makes earlier files unreadable or ambiguous."""
FILE = "manifest.json"


class CatalogueError(ValueError):
    """A catalogue is missing, damaged, or of another format."""


class About(Record):
    """Origin of a catalogue."""

    name: str
    """Profile: `synth`, `1k`, `full`."""
    nouns: str
    """Tagger that found the nouns of titles, of `taggers.TAGGERS`."""
    settings: dict[str, str]
    """Rules for prices, bounds and order; sources and their hashes."""


class Manifest(Record):
    """Metadata of a catalogue, readable without its data."""

    format: str
    about: About
    products: int
    """Number of products."""
    goal_sets: tuple[str, ...]
    files: dict[str, Flat]

    @property
    def digest(self) -> str:
        """SHA-256 in hex, of the content of every file: equal digests mean equal catalogues."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class _Format(BaseModel):
    """Field that manifests of all formats share."""

    format: str


def read(folder: Path) -> Manifest:
    """The manifest of a folder whose files have the recorded sizes; raises `CatalogueError`."""
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as cause:
        raise CatalogueError(f"there is no catalogue in {folder}: {cause.strerror}") from cause
    except UnicodeDecodeError as cause:
        raise CatalogueError(f"{path} is damaged") from cause
    manifest = _parsed(path, text)
    for name, flat in manifest.files.items():
        size = _size(folder / name)
        if size != flat.size:
            told = "missing" if size is None else f"{size} bytes long"
            raise CatalogueError(f"{folder / name} is {told}, not {flat.size} bytes")
    return manifest


def damage(folder: Path) -> list[str]:
    """Differences of a catalogue from its manifest, a line each; reads every file. None: it is intact."""
    try:
        manifest = read(folder)
    except CatalogueError as problem:
        return [str(problem)]
    files = manifest.files.items()
    return [
        f"{folder / name} is damaged" for name, flat in files if file_sha256(folder / name) != flat.sha256
    ]


def _parsed(path: Path, text: str) -> Manifest:
    try:
        written_as = _Format.model_validate_json(text).format
        if written_as != FORMAT:
            raise CatalogueError(f"{path} is of format {written_as!r}, not {FORMAT!r}: build it again")
        return Manifest.model_validate_json(text)
    except ValidationError as cause:
        raise CatalogueError(f"{path} is damaged: {cause.errors()[0]['msg']}") from cause


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None
