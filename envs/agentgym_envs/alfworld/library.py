"""Library of imported official games: `Catalogue`, `load_split`, `verify`.

home/alfworld/manifest.json                     the current folder, with counts and hashes
home/alfworld/games-.../official_train.jsonl.xz compact lines, one xz stream each: a valid .xz file
home/alfworld/games-.../official_train.json     id, sentence, kind, digest, offset and length of each
"""

import hashlib
import lzma
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from agentgym_envs.alfworld.game import MAX_CHARACTERS, Game, GameError, read_compact_line
from agentgym_envs.alfworld.sources import LOOSE, SPLITS
from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST
from agentgym_envs.import_report import FileName
from agentgym_envs.lazy_sequence import LazySequence


class Row(Record):
    """Index entry of one game: the public fields of its task, and its position in the file."""

    id: str
    sentence: str
    kind: str
    digest: str
    offset: int
    length: int


class SplitFiles(Record):
    """Manifest entry of one split."""

    games: int
    file: FileName
    sha256: str
    index: FileName
    index_sha256: str
    content: str
    """Digest over the games' ids and digests, independent of the packing."""


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    splits: dict[str, SplitFiles]


ROWS = TypeAdapter(tuple[Row, ...])


class Catalogue:
    """Imported games under one home, read lazily: an index when a split is listed, a game when played."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest
        self._rows: dict[str, tuple[Row, ...]] = {}
        self._places: dict[str, tuple[str, int]] = {}

    @staticmethod
    def open(home: Path) -> "Catalogue | None":
        """The catalogue under `home`, None if nothing was imported; `GameError` for a broken manifest."""
        path = home / "alfworld" / MANIFEST
        try:
            return _shared(path.parent, path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError:
            raise GameError(f"{path} is broken: import the games again") from None

    @staticmethod
    def open_if_sound(home: Path) -> "Catalogue | None":
        """As `open`, but also None for a broken manifest."""
        try:
            return Catalogue.open(home)
        except GameError:
            return None

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that are equal for equal games."""
        return digest_of_lines(f"{split} {files.content}" for split, files in self.manifest.splits.items())[
            :12
        ]

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have games, in a fixed order."""
        return tuple(name for name in (*SPLITS.values(), LOOSE) if name in self.manifest.splits)

    def rows(self, split: str) -> tuple[Row, ...]:
        """The index of a split; raises `GameError` if it was not imported or its file is broken."""
        if split not in self._rows:
            self._rows[split] = _read_rows(self._path(self._files(split).index))
        return self._rows[split]

    def find(self, game_id: str) -> tuple[str, int] | None:
        """Split and position of a game, None if it was not imported."""
        if not self._places:
            self._places = {
                row.id: (split, number)
                for split in self.splits
                for number, row in enumerate(self.rows(split))
            }
        return self._places.get(game_id)

    def game(self, split: str, number: int) -> Game:
        """One game; raises `GameError` if the file differs from the manifest."""
        row = self.rows(split)[number]
        path = self._path(self._files(split).file)
        with path.open("rb") as file:
            file.seek(row.offset)
            stream = file.read(row.length)
        try:
            line = lzma.LZMADecompressor().decompress(stream, MAX_CHARACTERS).decode()
        except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
            raise GameError(f"{path} is broken at game {row.id}: {error}") from None
        return read_compact_line(line)

    def _files(self, split: str) -> SplitFiles:
        if split not in self.manifest.splits:
            raise GameError(f"the games of {split!r} are not imported: agentevol data import alfworld DIR")
        return self.manifest.splits[split]

    def _path(self, name: str) -> Path:
        return self.root / self.manifest.folder / name


@lru_cache(maxsize=8)
def _shared(root: Path, manifest: bytes) -> Catalogue:
    """Cached catalogue of a manifest, so that its indexes are in memory once."""
    return Catalogue(root, Manifest.model_validate_json(manifest))


def load_split(home: Path, split: str) -> Sequence[Game]:
    """The imported games of a split, each read on access; raises `GameError` if there are none."""
    catalogue = Catalogue.open(home)
    if catalogue is None:
        raise GameError(f"no games are imported under {home}: agentevol data import alfworld DIR")
    return LazySequence(len(catalogue.rows(split)), lambda number: catalogue.game(split, number))


def counts(home: Path) -> dict[str, int] | None:
    """Games by split; None if nothing was imported. Raises `GameError` for a broken manifest."""
    catalogue = Catalogue.open(home)
    if catalogue is None:
        return None
    return {split: files.games for split, files in catalogue.manifest.splits.items()}


def verify(home: Path) -> list[str]:
    """Errors of the imported files, one line each; empty if there are none, or nothing was imported."""
    try:
        catalogue = Catalogue.open(home)
    except (GameError, OSError) as error:
        return [str(error)]
    if catalogue is None:
        return []
    folder = catalogue.root / catalogue.manifest.folder
    return [
        problem
        for files in catalogue.manifest.splits.values()
        for name, digest in ((files.file, files.sha256), (files.index, files.index_sha256))
        for problem in _file_problems(folder / name, digest)
    ]


def digest_of(game: Game) -> str:
    """16 hexadecimal digits that are equal for games of equal facts and goal."""
    return digest_of_lines((*set(game.facts), f"goal {game.goal}"))


def digest_of_lines(lines: Iterable[str]) -> str:
    """16 hexadecimal digits over lines in any order."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]


def _read_rows(path: Path) -> tuple[Row, ...]:
    try:
        return ROWS.validate_json(path.read_bytes())
    except ValidationError:
        raise GameError(f"{path} is broken: import the games again") from None


def _file_problems(path: Path, digest: str) -> Iterator[str]:
    try:
        found = file_sha256(path)
    except OSError as error:
        yield f"{path}: {error.strerror}"
    else:
        if found != digest:
            yield f"{path}: its SHA-256 is {found[:12]}..., not {digest[:12]}... as imported"
