"""Files of questions: `QuestionFile`, which checks all lines once and reads single ones on demand.

Only places of lines are in memory, with ids; the file itself is mapped (`agentgym_envs.assets`).
"""

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from agentgym_envs.assets import mapped
from agentgym_envs.questions.records import Question, QuestionsError, question_of

MOST_LINE = 1_000_000
"""Most bytes of a line."""


@dataclass
class QuestionFile:
    """A checked file of questions."""

    path: Path
    digest: str = ""
    """First 16 hexadecimal digits of the SHA-256 of the file."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """Number of a question by id, in the order of the file."""
    places: "array[int]" = field(default_factory=lambda: array("Q"))
    """Start and end of the line of each question."""
    by_split: dict[str, "array[int]"] = field(default_factory=dict[str, "array[int]"])
    """Numbers of the questions of each split."""
    by_level: dict[tuple[str, str], "array[int]"] = field(default_factory=dict[tuple[str, str], "array[int]"])
    """Numbers of the questions of each split and difficulty."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits: `train`, `valid` and `test` first."""
        usual = {"train": 0, "valid": 1, "test": 2}
        return tuple(sorted(self.by_split, key=lambda name: (usual.get(name, 3), name)))

    @property
    def difficulties(self) -> tuple[str, ...]:
        """Names of the levels, sorted."""
        return tuple(sorted({level for _, level in self.by_level if level}))

    def numbers_of(self, split: str, difficulty: str | None) -> "array[int]":
        """Numbers of the questions of a split, all or of one level."""
        if difficulty is None:
            return self.by_split[split]
        return self.by_level.get((split, difficulty), array("L"))

    def question(self, number: int) -> Question:
        """The question of this number. Raises `QuestionsError` where the file has changed."""
        start, end = self.places[2 * number], self.places[2 * number + 1]
        line = mapped(self.path)[start:end].tobytes()
        try:
            return question_of(line.decode("utf-8-sig"), "none")
        except (UnicodeDecodeError, QuestionsError) as cause:
            raise QuestionsError(f"{self.path} has changed since it was opened: {cause}") from None


def open_questions(path: Path, verifier: str) -> QuestionFile:
    """The checked file. Raises `QuestionsError` in one line, and `OSError`."""
    place = path.expanduser().absolute()
    if place.is_dir():
        raise QuestionsError(
            f"{place} is a folder, not a file of questions: import it with `agentevol data import questions"
            " PATH`"
        )
    stat = place.stat()
    return _checked(place, verifier, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=8)
def _checked(path: Path, verifier: str, *version: int) -> QuestionFile:  # noqa: ARG001 - a part of the key
    found, owners, digest = QuestionFile(path), dict[bytes, str](), hashlib.sha256()
    place = 0
    for number, line in _lines(path):
        digest.update(line)
        start, place = place, place + len(line)
        if line.strip():
            _add(found, owners, _read(path, number, line, verifier), (start, place), number)
    if not found.numbers:
        raise QuestionsError(f"{path} has no question")
    found.digest = digest.hexdigest()[:16]
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise QuestionsError(f"{path}:{number}: the line has more than {MOST_LINE:,} bytes")
            yield number, line


def _read(path: Path, number: int, line: bytes, verifier: str) -> Question:
    try:
        return question_of(line.decode("utf-8-sig" if number == 1 else "utf-8"), verifier)
    except UnicodeDecodeError as cause:
        raise QuestionsError(f"{path}:{number}: not UTF-8 at byte {cause.start}") from None
    except QuestionsError as cause:
        raise QuestionsError(f"{path}:{number}: {cause}") from None


def _add(
    found: QuestionFile, owners: dict[bytes, str], one: Question, place: tuple[int, int], line: int
) -> None:
    """Add a question. Raises `QuestionsError` for a second one of its id, and for a prompt of another
    split.
    """
    number = len(found.numbers)
    if found.numbers.setdefault(one.id, number) != number:
        raise QuestionsError(f"{found.path}:{line}: the id {one.id[:80]!r} occurs twice")
    content = hashlib.sha256(one.content.encode()).digest()[:16]
    owner = owners.setdefault(content, one.split)
    if owner != one.split:
        raise QuestionsError(
            f"{found.path}:{line}: the prompt of {one.id[:80]!r} in {one.split!r} is also in {owner!r}:"
            " splits have to be disjoint"
        )
    found.places.extend(place)
    found.by_split.setdefault(one.split, array("L")).append(number)
    found.by_level.setdefault((one.split, one.difficulty), array("L")).append(number)
