"""A catalogue on disk: arrays, one a file, and a manifest with their sizes and hashes."""

import hashlib
import json
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from agentgym_envs.core import Record

FORMAT = "webshop-catalogue-1"
"""Changes with whatever makes a file of before unreadable, or read as something else."""
FILE = "manifest.json"
_PIECE = 1 << 22


class CatalogueError(ValueError):
    """A catalogue is missing, damaged, or of another format."""


class About(Record):
    """Where a catalogue comes from."""

    name: str
    """Of the profile: `synth`, `1k`, `full`."""
    nouns: str
    """The tagger that found the nouns of titles, of `taggers.TAGGERS`."""
    settings: dict[str, str]
    """How prices, bounds and order were made; sources and their hashes."""


class Flat(Record):
    """One array."""

    dtype: str = Field(pattern=r"^(\|[iu]1|<[iu][248]|<f[48]|\|S[1-9][0-9]{0,2})$")
    """As NumPy writes it, with the order of bytes."""
    length: int = Field(ge=0)
    sha256: str

    @property
    def size(self) -> int:
        """In bytes."""
        return self.length * int(self.dtype[2:])


class Manifest(Record):
    """All that is known of a catalogue without reading it."""

    format: str
    about: About
    products: int
    """How many."""
    goal_sets: tuple[str, ...]
    files: dict[str, Flat]

    @property
    def digest(self) -> str:
        """SHA-256 in hex, of the content of every file: equal ones mean equal catalogues."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class _Format(BaseModel):
    """What every manifest says, of whatever format."""

    format: str


def read(folder: Path) -> Manifest:
    """Of a folder whose files have the sizes that it says; raises `CatalogueError`."""
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
    """What of a catalogue is not as it was written, a line each; reads every file. None: all is well."""
    try:
        manifest = read(folder)
    except CatalogueError as problem:
        return [str(problem)]
    files = manifest.files.items()
    return [f"{folder / name} is damaged" for name, flat in files if hashed(folder / name) != flat.sha256]


def hashed(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


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
