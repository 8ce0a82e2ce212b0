"""Library of imported tasks: `Catalogue`, `counts`, `verify`.

home/bfcl/manifest.json               the current folder, with counts and hashes
home/bfcl/tasks-.../base.jsonl        a task on each line
home/bfcl/tasks-.../functions.json    the documents of functions by class
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from agentgym_envs.bfcl.dialogues import Dialogue, DialogueError
from agentgym_envs.bfcl.documents import Documents
from agentgym_envs.bfcl.sources import CATEGORIES
from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST
from agentgym_envs.import_report import FileName

TEXTS = TypeAdapter(dict[str, str])


class Row(Record):
    """A line of a file of tasks."""

    id: str
    dialogue: Dialogue


class StoredFile(Record):
    """Manifest entry of a file."""

    file: FileName
    sha256: str
    tasks: int = 0


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    functions: StoredFile
    splits: dict[str, StoredFile]


class Catalogue:
    """Imported tasks under one home; a category is read when it is first listed."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.manifest = manifest
        self.folder = root / manifest.folder
        self._rows: dict[str, tuple[Row, ...]] = {}

    @staticmethod
    def open(home: Path) -> "Catalogue | None":
        """The catalogue under `home`, None if nothing was imported; `DialogueError` for a broken manifest."""
        path = home / "bfcl" / MANIFEST
        try:
            return _shared(path.parent, path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            raise DialogueError(f"{path} is broken: import the tasks again") from None

    @staticmethod
    def open_if_sound(home: Path) -> "Catalogue | None":
        """As `open`, but also None for a broken manifest."""
        try:
            return Catalogue.open(home)
        except DialogueError:
            return None

    @property
    def splits(self) -> tuple[str, ...]:
        """Categories that have tasks, in a fixed order."""
        return tuple(name for name in CATEGORIES if name in self.manifest.splits)

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that are equal for equal tasks and functions."""
        files = [self.manifest.functions, *(self.manifest.splits[name] for name in self.splits)]
        return digest_of("\n".join(file.sha256 for file in files))[:12]

    @cached_property
    def documents(self) -> Documents:
        """The documents of functions; raises `DialogueError` if the file is broken."""
        path = self.folder / self.manifest.functions.file
        try:
            return Documents(TEXTS.validate_json(path.read_bytes()))
        except ValueError:
            raise DialogueError(f"{path} is broken: import the tasks again") from None

    def rows(self, split: str) -> tuple[Row, ...]:
        """The tasks of a category; raises `DialogueError` if the file is broken."""
        if split not in self._rows:
            path = self.folder / self.manifest.splits[split].file
            try:
                lines = path.read_bytes().splitlines()
                self._rows[split] = tuple(map(Row.model_validate_json, lines))
            except ValidationError:
                raise DialogueError(f"{path} is broken: import the tasks again") from None
        return self._rows[split]

    @cached_property
    def places(self) -> dict[str, tuple[str, int]]:
        """Category and position of each task by its id."""
        return {
            row.id: (split, number) for split in self.splits for number, row in enumerate(self.rows(split))
        }


@lru_cache(maxsize=8)
def _shared(root: Path, manifest: bytes) -> Catalogue:
    """Cached catalogue of a manifest, so that its tasks are in memory once."""
    return Catalogue(root, Manifest.model_validate_json(manifest))


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported. Raises `DialogueError` for a broken manifest."""
    catalogue = Catalogue.open(home)
    if catalogue is None:
        return None
    return {split: catalogue.manifest.splits[split].tasks for split in catalogue.splits}


def verify(home: Path) -> list[str]:
    """Errors of the imported files, one line each; empty if there are none, or nothing was imported."""
    try:
        catalogue = Catalogue.open(home)
    except (DialogueError, OSError) as error:
        return [str(error)]
    if catalogue is None:
        return []
    files = (catalogue.manifest.functions, *catalogue.manifest.splits.values())
    return [problem for file in files for problem in _file_problems(catalogue.folder / file.file, file)]


def digest_of(text: str) -> str:
    """SHA-256 of a text in hexadecimal digits."""
    return sha256(text.encode()).hexdigest()


def _file_problems(path: Path, stored: StoredFile) -> Iterator[str]:
    try:
        found = file_sha256(path)
    except OSError as error:
        yield f"{path}: {error.strerror}"
    else:
        if found != stored.sha256:
            yield f"{path}: its SHA-256 is {found[:12]}..., not {stored.sha256[:12]}... as imported"
