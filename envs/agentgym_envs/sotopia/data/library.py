"""Library of imported profiles: `Catalogue`, `counts`, `verify`.

home/sotopia/manifest.json                      the current folder, with counts and hashes
home/sotopia/profiles-.../environments.jsonl    a record on each line; so agents, combos and relationships
home/sotopia/profiles-.../hard.json             positions of the hard combinations
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from agentgym_envs.core import Record, TaskNotFound
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST
from agentgym_envs.import_report import FileName
from agentgym_envs.sotopia.data.profile_set import Combo, ProfileSet, RelationshipProfile, SotopiaDataError
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene
from agentgym_envs.sotopia.verification.verifier import verifiable

NAME: Final = "sotopia"
"""Folder below the home."""
ENVIRONMENTS, AGENTS, COMBOS = "environments.jsonl", "agents.jsonl", "combos.jsonl"
RELATIONSHIPS, HARD_POSITIONS = "relationships.jsonl", "hard.json"
FILES: Final = (ENVIRONMENTS, AGENTS, COMBOS, RELATIONSHIPS, HARD_POSITIONS)
POSITIONS: Final = TypeAdapter(tuple[int, ...])

RecordT = TypeVar("RecordT", bound=BaseModel)


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    files: dict[FileName, str]
    """SHA-256 of each file."""
    splits: dict[str, int]
    """Combinations of each split."""


@dataclass(frozen=True)
class Catalogue:
    """Imported profiles under one home; they are read when they are first used."""

    root: Path
    manifest: Manifest

    @staticmethod
    def open(home: Path) -> "Catalogue | None":
        """The catalogue under `home`, None if nothing was imported.

        Raises `SotopiaDataError` for a broken manifest.
        """
        path = home / NAME / MANIFEST
        try:
            return _shared(path.parent, path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            raise SotopiaDataError(f"{path} is broken: import the profiles again") from None

    @staticmethod
    def open_if_sound(home: Path) -> "Catalogue | None":
        """As `open`, but also None for a broken manifest."""
        try:
            return Catalogue.open(home)
        except SotopiaDataError:
            return None

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits in a fixed order; they overlap."""
        return tuple(self.manifest.splits)

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that are equal for equal profiles."""
        return sha256("\n".join(self.manifest.files[name] for name in FILES).encode()).hexdigest()[:12]

    @property
    def folder(self) -> Path:
        """Folder of the current files."""
        return self.root / self.manifest.folder

    @cached_property
    def profiles(self) -> ProfileSet:
        """All profiles; raises `SotopiaDataError` if a file is broken, `OSError` if it cannot be read."""
        environments = self._records(ENVIRONMENTS, EnvironmentProfile)
        agents = self._records(AGENTS, AgentProfile)
        hard = self.folder / HARD_POSITIONS
        try:
            positions = POSITIONS.validate_json(hard.read_bytes())
        except ValidationError:
            raise _broken(hard) from None
        return ProfileSet(
            environments={one.pk: one for one in environments},
            agents={one.pk: one for one in agents},
            combos=self._records(COMBOS, Combo),
            hard=positions,
            relationships=self._records(RELATIONSHIPS, RelationshipProfile),
        )

    @cached_property
    def verifiable(self) -> frozenset[int]:
        """Positions of the combinations whose goals a program can check."""
        profiles, found = self.profiles, dict[str, bool]()
        for combo in profiles.combos:  # the characters do not matter
            if combo.env_id not in found:
                scene = profiles.scene_of(combo.env_id, combo.agent_ids)
                found[combo.env_id] = verifiable(scene) is not None
        return frozenset(n for n, combo in enumerate(profiles.combos) if found[combo.env_id])

    def positions(self, split: str) -> tuple[int, ...]:
        """Positions of the combinations of a split; raises `TaskNotFound` for an unknown one."""
        if split not in self.manifest.splits:
            raise TaskNotFound(f"no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        return self.profiles.positions[split]

    def scene(self, position: int) -> Scene:
        """The scene of a combination; raises `TaskNotFound`."""
        return self.profiles.scene(position)

    def find(self, task_id: str) -> int:
        """Position of a task by its id, or by the key of its combination; raises `TaskNotFound`."""
        return self.profiles.find(task_id)

    def _records(self, name: str, record: type[RecordT]) -> tuple[RecordT, ...]:
        path = self.folder / name
        try:
            return tuple(map(record.model_validate_json, path.read_bytes().splitlines()))
        except ValidationError:
            raise _broken(path) from None


@lru_cache(maxsize=8)
def _shared(root: Path, manifest: bytes) -> Catalogue:
    """Cached catalogue of a manifest, so that its profiles are in memory once."""
    return Catalogue(root, Manifest.model_validate_json(manifest))


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split; None if nothing was imported. Raises `SotopiaDataError` for a broken manifest."""
    catalogue = Catalogue.open(home)
    return None if catalogue is None else dict(catalogue.manifest.splits)


def verify(home: Path) -> list[str]:
    """Errors of the imported files, one line each; empty if there are none, or nothing was imported."""
    try:
        catalogue = Catalogue.open(home)
    except (SotopiaDataError, OSError) as error:
        return [str(error)]
    if catalogue is None:
        return []
    files = catalogue.manifest.files.items()
    return [line for name, expected in files for line in _problems(catalogue.folder / name, expected)]


def _problems(path: Path, expected: str) -> Iterator[str]:
    try:
        found = file_sha256(path)
    except OSError as error:
        yield f"{path}: {error.strerror}"
    else:
        if found != expected:
            yield f"{path}: its SHA-256 is {found[:12]}..., not {expected[:12]}... as imported"


def _broken(path: Path) -> SotopiaDataError:
    return SotopiaDataError(f"{path} is broken: import the profiles again")
