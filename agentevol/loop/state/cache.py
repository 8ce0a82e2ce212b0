"""Cache of encoded training sequences: those of each finished round, in the run's folder `sequences/`.

A cached file holds the key of everything it was derived from: the files of the table that hold the round's
episodes, the configuration, the tokenizer of the base, and this program. A file that is missing, damaged, or
of another key is derived again and replaced.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.data.columnar_file import EncodedSequences, read_sequences
from agentevol.models.checkpoints import tokenizer_files

FORMAT = 2
"""Format version, raised by one when other training sequences, or other prices, are derived from the same
episodes.
"""

MAPPED_FILES = 500
"""Maximum number of mapped files, each of which holds a file descriptor; further ones are read every time."""


class CacheKeys:
    """Cache keys of data derived from a run's episodes."""

    def __init__(self, config: RunConfig, base: Checkpoint) -> None:
        self._config, self._base = config, base

    def of(self, *derived_from: object) -> str:
        """Return the key of data that is derived from these values and the run."""
        return _hash([self._run, *derived_from])

    @cached_property
    def _run(self) -> str:
        files = [
            (file.name, sha256(file.read_bytes()).hexdigest()) for file in tokenizer_files(self._base.path)
        ]
        # more iterations of a run change nothing in the earlier ones
        config = self._config.model_dump(mode="json", exclude={"iterations"})
        return _hash([FORMAT, _program(), config, files])


class SequenceCache:
    """Encoded training sequences by name, in a folder."""

    def __init__(self, folder: Path, keys: CacheKeys) -> None:
        self._folder, self._keys = folder, keys
        self._opened: dict[str, _Opened] = {}

    def sequences(
        self, name: str, fingerprint: str, derive: Callable[[], EncodedSequences]
    ) -> EncodedSequences:
        """Return the training sequences of this name, derived only where no file holds those of the same
        episodes.

        `fingerprint` is of the episodes. A file is checked once, as long as it is unchanged.
        """
        key, file = self._keys.of("sequences", name, fingerprint), self._folder / f"{name}.safetensors"
        found = self._open(name, file, key)
        if found is None:
            found = derive()
            found.write(file, key)
        return found

    def _open(self, name: str, file: Path, key: str) -> EncodedSequences | None:
        stamp, opened = _stamp(file), self._opened.pop(name, None)
        if opened is not None and (opened.key, opened.stamp) == (key, stamp):
            self._opened[name] = opened
            return opened.sequences
        mapped = len(self._opened) < MAPPED_FILES
        sequences = read_sequences(file, key, mapped=mapped) if stamp else None
        if sequences is not None and mapped:
            self._opened[name] = _Opened(key, stamp, sequences)
        return sequences


@dataclass(frozen=True)
class _Opened:
    """A file that was checked."""

    key: str
    stamp: tuple[int, ...]
    sequences: EncodedSequences


def _stamp(file: Path) -> tuple[int, ...]:
    """Inode, size and time of change of a file; empty where there is none."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _program() -> str:
    try:
        return version("agentevol")
    except PackageNotFoundError:
        return ""


def _hash(told: object) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
