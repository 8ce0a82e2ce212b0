"""Library of imported databases: `Library`, `counts`, `verify`.

home/sql/manifest.json               the current folder, with counts and hashes
home/sql/data-.../tasks.json         the served tasks
home/sql/data-.../pets_1.0.sqlite    a database, and its variants pets_1.1.sqlite to pets_1.8.sqlite
"""

import hashlib
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST
from agentgym_envs.import_report import FileName
from agentgym_envs.sql.executor.database import Source

TASKS = "tasks.json"
SPLITS = ("imported_train", "imported_valid", "imported_test")

DatabaseName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$")]


class LibraryError(Exception):
    """Imported data, or data to be imported, that cannot be used."""


class ImportedTask(Record):
    """A served task."""

    id: str
    database: DatabaseName
    split: str
    question: str
    gold: str
    difficulty: str
    counting: tuple[int, ...]
    """Numbers of the databases by which predictions are judged; 0 is the one that the agent queries."""


class Figures(Record):
    """Figures of one database."""

    tasks: int
    served: int
    mutants: int
    killed: int
    """Mutants of served golds, and those of them that differ from their gold."""


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    variants: int
    """Version of the recipe of the variants."""
    files: dict[FileName, str]
    """SHA-256 of each file."""
    databases: dict[DatabaseName, Figures]
    splits: dict[str, int]
    """Number of served tasks."""

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that are equal for equal files."""
        lines = "\n".join(f"{name} {digest}" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()[:12]


TASK_LIST = TypeAdapter(tuple[ImportedTask, ...])


class Library:
    """Imported tasks and databases under one home."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root, self.manifest = root, manifest

    @staticmethod
    def open(home: Path) -> "Library | None":
        """The library under `home`, None if nothing was imported; raises `LibraryError` for a broken one."""
        path = home / "sql" / MANIFEST
        try:
            return _shared(path.parent, path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            raise LibraryError(f"{path} is broken: import the data again") from None

    @property
    def folder(self) -> Path:
        """Folder of the files."""
        return self.root / self.manifest.folder

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits that have tasks, in a fixed order."""
        return tuple(split for split in SPLITS if self.manifest.splits.get(split))

    @cached_property
    def tasks(self) -> dict[str, ImportedTask]:
        """Served tasks by id; raises `LibraryError`."""
        path = self.folder / TASKS
        try:
            return {task.id: task for task in TASK_LIST.validate_json(path.read_bytes())}
        except (OSError, ValidationError):
            raise LibraryError(f"{path} is broken: import the data again") from None

    @cached_property
    def by_split(self) -> dict[str, tuple[ImportedTask, ...]]:
        """Served tasks by split, in the order of their source."""
        return {
            split: tuple(task for task in self.tasks.values() if task.split == split) for split in self.splits
        }

    def source(self, task: ImportedTask, number: int) -> Source:
        """The base of a task's database for 0, otherwise a variant."""
        return Source(self.folder / file_name(task.database, number))


def file_name(database: str, number: int) -> str:
    """Name of the file of a database, 0, or of one of its variants."""
    return f"{database}.{number}.sqlite"


@lru_cache(maxsize=8)
def _shared(root: Path, manifest: bytes) -> Library:
    return Library(root, Manifest.model_validate_json(manifest))


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported. Raises `LibraryError` for a broken manifest."""
    library = Library.open(home)
    return None if library is None else dict(library.manifest.splits)


def verify(home: Path) -> list[str]:
    """Errors of the imported files, one line each; empty if there are none, or nothing was imported."""
    try:
        library = Library.open(home)
    except (LibraryError, OSError) as error:
        return [str(error)]
    if library is None:
        return []
    return [
        line
        for name, digest in library.manifest.files.items()
        if (line := _problem(library.folder / name, digest))
    ]


def _problem(path: Path, digest: str) -> str:
    try:
        found = file_sha256(path)
    except OSError as error:
        return f"{path}: {error.strerror}"
    return (
        "" if found == digest else f"{path}: its SHA-256 is {found[:12]}..., not {digest[:12]}... as imported"
    )
