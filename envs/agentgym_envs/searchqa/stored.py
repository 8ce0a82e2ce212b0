"""Imported passages and questions on disk.

home/searchqa/manifest.json       counts and hashes; written last
home/searchqa/tasks-.../          questions.jsonl, passages.blob, passages.begins, and the arrays of the index
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.core import Record
from agentgym_envs.import_folders import MANIFEST, difference, read_manifest
from agentgym_envs.import_report import FileName
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.search.building import Analysis, Builder
from agentgym_envs.search.flat import Files, mapped
from agentgym_envs.search.keys import decoded, encoded
from agentgym_envs.search.manifest import Flat
from agentgym_envs.search.stored import StoredIndex
from agentgym_envs.searchqa.corpus import Corpus, searched
from agentgym_envs.searchqa.records import Passage, SearchQAError, SearchQuestion

FOLDER: Final = "searchqa"
QUESTIONS: Final = "questions.jsonl"
CHUNK: Final = 2048
"""Passages that are analysed at a time."""
_EMPTY = np.zeros(0, np.uint8)


class SearchQAManifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    questions: str
    """SHA-256 of the questions' file."""
    arrays: dict[str, Flat]
    passages: int
    counts: dict[str, int]
    """Questions by split."""


class PassageWriter:
    """Writer of passages and their index, in bounded memory."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._files, self._builder = Files(folder), Builder(scratch)
        self._files.add("passages.blob", _EMPTY)
        self._sizes: list[int] = []
        self._waiting: list[Passage] = []

    def add(self, passages: Iterable[Passage]) -> None:
        """Add the next passages."""
        for one in passages:
            self._waiting.append(one)
            if len(self._waiting) == CHUNK:
                self._write()

    def finish(self) -> dict[str, Flat]:
        """Write the index; the arrays by name."""
        self._write()
        if not self._sizes:
            return {}
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(self._sizes, dtype=np.int64)))
        self._files.add("passages.begins", ends)
        self._builder.finish(self._files, np.arange(len(self._sizes), dtype=np.int32))
        return self._files.finish()

    def close(self) -> None:
        """Close the files of an aborted import."""
        self._files.close()

    def _write(self) -> None:
        texts = [searched(one) for one in self._waiting]
        pieces = [encoded(text) for text in texts]
        self._files.add("passages.blob", np.frombuffer(b"".join(pieces), np.uint8))
        self._sizes += map(len, pieces)
        if texts:
            self._builder.add(Analysis.of(texts))
        self._waiting = []


def manifest(home: Path) -> SearchQAManifest | None:
    """The manifest; None if nothing was imported. Raises `SearchQAError` for a broken one."""
    return read_manifest(home / FOLDER / MANIFEST, SearchQAManifest, SearchQAError)


def found(home: Path) -> tuple[SearchQAManifest, Path]:
    """The manifest and its folder. Raises `SearchQAError` where nothing was imported."""
    told = manifest(home)
    if told is None:
        raise SearchQAError("no passages and questions were imported: agentevol data import searchqa PATH")
    return told, home / FOLDER / told.folder


def counts(home: Path) -> dict[str, int] | None:
    """Questions by split; None if nothing was imported."""
    told = manifest(home)
    return None if told is None else dict(told.counts)


def verify(home: Path) -> list[str]:
    """Differences between the files and the manifest."""
    told = manifest(home)
    if told is None:
        return []
    folder = home / FOLDER / told.folder
    hashes = {QUESTIONS: told.questions, **{name: flat.sha256 for name, flat in told.arrays.items()}}
    lines = (difference(folder / name, digest) for name, digest in hashes.items())
    return [line for line in lines if line]


def opened(folder: Path, told: str) -> tuple[Corpus, tuple[SearchQuestion, ...]]:
    """Corpus and questions of an import; `told` is the manifest's JSON."""
    arrays = SearchQAManifest.model_validate_json(told).arrays

    def array(name: str) -> NDArray[Any]:
        return mapped(folder / name, arrays[name])

    corpus = Corpus(_passages(array("passages.blob"), array("passages.begins")), StoredIndex.of(array))
    with (folder / QUESTIONS).open(encoding="utf-8") as file:
        questions = tuple(SearchQuestion.model_validate(json.loads(line)) for line in file)
    return corpus, questions


def _passages(blob: NDArray[np.uint8], begins: NDArray[np.int64]) -> LazySequence[Passage]:
    def passage(place: int) -> Passage:
        title, _, text = decoded(blob[begins[place] : begins[place + 1]].tobytes()).partition("\n")
        return Passage(title=title, text=text)

    return LazySequence(len(begins) - 1, passage)
