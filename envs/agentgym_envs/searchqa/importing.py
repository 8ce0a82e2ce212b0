"""Import of passages and questions: `import_official`. `agentgym_envs.searchqa.stored` has what is imported.

Splits of an import are disjoint: of a question that is in several, the copy in the split that is held out
stays (`test`, then `valid`). Passages in the context of a question become part of the corpus.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport, Refused
from agentgym_envs.searchqa.formats import Found, files, read, records
from agentgym_envs.searchqa.records import Passage, SearchQAError, SearchQuestion
from agentgym_envs.searchqa.scoring import normalized
from agentgym_envs.searchqa.stored import (
    FOLDER,
    QUESTIONS,
    PassageWriter,
    SearchQAManifest,
    counts,
    manifest,
    verify,
)

__all__ = ["counts", "import_official", "verify"]

MOST_REFUSED: Final = 1_000
"""Refused records that are kept for the report."""
_HELD_OUT: Final = {"test": 2, "valid": 1}
_NOTE = f"play them: agentevol run env={FOLDER} environment.options.corpus=imported"


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the passages and questions of a file or folder, replacing an earlier import.

    Raises `SearchQAError` where there are no passages or no questions, and `OSError`.
    """
    reading = _Reading(source, progress or (lambda _: None))
    with draft(home / FOLDER, "tasks-") as folder:
        scratch = folder / "scratch"
        scratch.mkdir()
        writer = PassageWriter(folder, scratch)
        try:
            writer.add(reading.passages())
            arrays = writer.finish()
        finally:
            writer.close()
        shutil.rmtree(scratch)
        questions, left_out = _unique(reading.questions)
        if not reading.count or not questions:
            raise SearchQAError(reading.nothing("passages" if not reading.count else "questions"))
        with (folder / QUESTIONS).open("w", encoding="utf-8") as file:
            file.writelines(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in questions)
        before = manifest(home)
        told = SearchQAManifest(
            folder=folder.name,
            questions=file_sha256(folder / QUESTIONS),
            arrays=arrays,
            passages=reading.count,
            counts=dict(sorted(Counter(one.split for one in questions).items())),
        )
        publish(home / FOLDER, folder, told, before.folder if before else None)
    return ImportReport(told.counts, tuple(reading.refused), _warnings(reading.count, left_out), (_NOTE,))


class _Reading:
    """Passages of a source, one by one; its questions are there once they have been read."""

    def __init__(self, source: Path, progress: Callable[[int], None]) -> None:
        self.source, self.progress = source, progress
        self.refused = list[Refused]()
        self.questions = list[SearchQuestion]()
        self.count = 0
        self._seen = set[bytes]()

    def passages(self) -> Iterator[Passage]:
        """Each passage once, in the order of the source."""
        for found in self._found():
            if found.question is not None:
                self.questions.append(found.question)
            for one in found.passages:
                key = sha256(f"{one.title}\n{one.text}".encode("utf-8", "surrogatepass")).digest()[:16]
                if key not in self._seen:
                    self._seen.add(key)
                    self.count += 1
                    yield one

    def _found(self) -> Iterator[Found]:
        total = 0
        for path in files(self.source):
            for number, raw in records(path):
                total += 1
                self.progress(total)
                try:
                    yield read(raw, path, number)
                except (SearchQAError, ValidationError, KeyError, TypeError, ValueError) as cause:
                    self._refuse(f"{path.name}:{number}", cause)

    def _refuse(self, name: str, cause: Exception) -> None:
        if len(self.refused) < MOST_REFUSED:
            reason = cause.errors()[0]["msg"] if isinstance(cause, ValidationError) else str(cause)
            line = next(iter(reason.splitlines()), type(cause).__name__)
            self.refused.append(Refused(name, line[:200]))

    def nothing(self, what: str) -> str:
        """Reason why there is nothing to import."""
        first = f"; {self.refused[0].name}: {self.refused[0].reason}" if self.refused else ""
        return f"{self.source} has no {what} that can be imported{first}"


def _unique(questions: list[SearchQuestion]) -> tuple[list[SearchQuestion], Counter[str]]:
    """Each question once, in the split that is held out most, with unique ids; what was left out by split."""
    owners: dict[str, SearchQuestion] = {}
    for one in questions:
        key = normalized(one.question)
        other = owners.get(key)
        if other is None or _HELD_OUT.get(one.split, 0) > _HELD_OUT.get(other.split, 0):
            owners[key] = one
    kept, left_out, ids = list[SearchQuestion](), Counter[str](), set[str]()
    for one in questions:
        if owners[normalized(one.question)] is not one or one.id in ids:
            left_out[one.split] += 1
        else:
            ids.add(one.id)
            kept.append(one)
    return kept, left_out


def _warnings(passages: int, left_out: Counter[str]) -> tuple[str, ...]:
    lines = [
        f"{count:,} of {split} left out: their questions or ids occur twice, or in a split that is held out"
        for split, count in sorted(left_out.items())
    ]
    return (f"{passages:,} passages", *lines)
