"""Imported data of one environment: `ImportedData`, `counts`, `verify`.

home/tau-retail/manifest.json              the current folder, with counts and hashes
home/tau-retail/data-.../tau2.json         tables, phone and policy texts
home/tau-retail/data-.../tau2_train.json   the tasks of a split
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field, TypeAdapter, ValidationError

from agentgym_envs.core import Record, TaskNotFound
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST
from agentgym_envs.import_report import FileName
from agentgym_envs.tau.data.domain import Domain, TaskSource
from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.tasks import TauTask, Version

TASKS = TypeAdapter(tuple[TauTask, ...])


class StoredFile(Record):
    """Manifest entry of a file."""

    file: FileName
    sha256: str
    tasks: int = 0
    """Number of tasks; 0 for data."""


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    sources: dict[str, StoredFile]
    splits: dict[str, StoredFile]


class StoredDomain(Record):
    """Content of the file of a source."""

    tables: dict[str, dict[str, dict[str, Any]]]
    phone: dict[str, Any] = Field(default_factory=dict)
    policies: dict[str, str] = Field(default_factory=dict)


class ImportedData(TaskSource):
    """Imported tasks under one home, read when a split is listed or an episode begins."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest

    @staticmethod
    def open(home: Path, env: str) -> "ImportedData | None":
        """The data of an environment, None if nothing was imported; `TauDataError` for a broken manifest."""
        path = home / env / MANIFEST
        try:
            return ImportedData(path.parent, Manifest.model_validate_json(path.read_bytes()))
        except FileNotFoundError:
            return None
        except ValidationError:
            raise TauDataError(f"{path} is broken: agentevol data import {env} DIR") from None

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.manifest.splits)

    @property
    def versions(self) -> tuple[Version, ...]:
        return tuple(version for version in get_args(Version) if version in self.manifest.sources)

    @property
    def digest(self) -> str:
        files = (*self.manifest.sources.values(), *self.manifest.splits.values())
        return hashlib.sha256("".join(one.sha256 for one in files).encode()).hexdigest()[:12]

    def tasks(self, split: str) -> Sequence[TauTask]:
        if split not in self.manifest.splits:
            raise TaskNotFound(split)
        return _tasks(self._path(self.manifest.splits[split]))

    def domain(self, source: str) -> Domain:
        return _domain(self._path(self.manifest.sources[source]))

    def find(self, task_id: str) -> TauTask | None:
        for split in self.splits:
            found = _by_id(self._path(self.manifest.splits[split])).get(task_id)
            if found is not None:
                return found
        return None

    def _path(self, stored: StoredFile) -> Path:
        return self.root / self.manifest.folder / stored.file


def counts(home: Path, env: str) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported. Raises `TauDataError` for a broken manifest."""
    found = ImportedData.open(home, env)
    return None if found is None else {name: one.tasks for name, one in found.manifest.splits.items()}


def verify(home: Path, env: str) -> list[str]:
    """Errors of the imported files, one line each; empty if there are none, or nothing was imported."""
    try:
        found = ImportedData.open(home, env)
    except (TauDataError, OSError) as error:
        return [str(error)]
    if found is None:
        return []
    folder = found.root / found.manifest.folder
    files = (*found.manifest.sources.values(), *found.manifest.splits.values())
    return [problem for one in files for problem in _problems(folder / one.file, one.sha256)]


def _problems(path: Path, digest: str) -> Iterator[str]:
    try:
        found = file_sha256(path)
    except OSError as error:
        yield f"{path}: {error.strerror}"
    else:
        if found != digest:
            yield f"{path}: its SHA-256 is {found[:12]}..., not {digest[:12]}... as imported"


@lru_cache(maxsize=16)
def _domain(path: Path) -> Domain:
    """The data of a file, which all instances of a process share: an import never changes a file."""
    try:
        stored = StoredDomain.model_validate_json(path.read_bytes())
    except ValidationError:
        raise TauDataError(f"{path} is broken: import the data again") from None
    return Domain(stored.tables, stored.phone, stored.policies)


@lru_cache(maxsize=32)
def _tasks(path: Path) -> tuple[TauTask, ...]:
    try:
        return TASKS.validate_json(path.read_bytes())
    except ValidationError:
        raise TauDataError(f"{path} is broken: import the data again") from None


@lru_cache(maxsize=32)
def _by_id(path: Path) -> Mapping[str, TauTask]:
    return {task.id: task for task in _tasks(path)}
