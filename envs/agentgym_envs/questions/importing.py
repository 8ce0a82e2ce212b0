"""Import of questions: `import_official`. `agentgym_envs.questions.library` finds imported ones.

Splits of an import are disjoint: of a prompt that is in several, the copy in the split that is held out stays
(`test`, then `valid`), so that a benchmark keeps its tasks.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from agentgym_envs.import_folders import draft
from agentgym_envs.import_report import ImportReport, Refused
from agentgym_envs.questions.files import open_questions
from agentgym_envs.questions.library import IMPORTED, QUESTIONS
from agentgym_envs.questions.records import Question, QuestionsError
from agentgym_envs.questions.sources import places, question_in

__all__ = ["counts", "import_official", "verify"]

VERIFIER = "math"
"""Verifier of questions in our own form that name none."""
_HELD_OUT = {"test": 2, "valid": 1, "train": -1}


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the questions of a file or folder, replacing an earlier import.

    Raises `QuestionsError` where no question can be imported, and `OSError`.
    """
    with draft(home / QUESTIONS.folder, "tasks-") as folder:
        reading = _Reading(source, progress or (lambda _: None))
        kept = folder / QUESTIONS.file
        with kept.open("w", encoding="utf-8") as file:
            file.writelines(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in reading.questions())
        if not reading.kept:
            raise QuestionsError(reading.nothing())
        open_questions(kept, VERIFIER)  # what is published can be played
        QUESTIONS.publish(home, folder, dict(reading.kept))
    return ImportReport(dict(reading.kept), tuple(reading.refused), reading.warnings(), (_NOTE,))


_NOTE = f"play them: agentevol run env={QUESTIONS.folder}:{IMPORTED}"
counts, verify = QUESTIONS.counts, QUESTIONS.verify


class _Reading:
    """Questions of a source, read twice: first for the split that keeps each prompt, then one by one."""

    def __init__(self, source: Path, progress: Callable[[int], None]) -> None:
        self.source, self.progress = source, progress
        self.refused = list[Refused]()
        self.kept, self.left_out = Counter[str](), Counter[str]()
        self._owners = dict[bytes, tuple[str, int]]()

    def questions(self) -> Iterator[Question]:
        """Each question once, in the order of the source."""
        ids = set[str]()
        for number, one in enumerate(self._read(note=True)):
            self.progress(number)
            digest = _digest(one)
            owner = self._owners.get(digest)
            if owner is None or _HELD_OUT.get(one.split, 0) > _HELD_OUT.get(owner[0], 0):
                self._owners[digest] = (one.split, number)
        for number, one in enumerate(self._read(note=False)):
            split, first = self._owners[_digest(one)]
            if (split, first) != (one.split, number):
                self.left_out["twice" if split == one.split else one.split] += 1
            elif one.id in ids:
                self.refused.append(Refused(one.id[:80], f"the id {one.id[:80]!r} occurs twice"))
            else:
                ids.add(one.id)
                self.kept[one.split] += 1
                yield one

    def _read(self, *, note: bool) -> Iterator[Question]:
        for place, line in places(self.source):
            try:
                yield question_in(place, line, VERIFIER)
            except QuestionsError as cause:
                if note:
                    self.refused.append(Refused(place.name, str(cause)))

    def warnings(self) -> tuple[str, ...]:
        """Lines about questions that were left out since their prompt occurs elsewhere."""
        twice = self.left_out.pop("twice", 0)
        lines = [
            f"{count:,} of {split} left out: their prompts are in a split that is held out"
            for split, count in sorted(self.left_out.items())
        ]
        return (*lines, *([f"{twice:,} left out: their prompts are twice in their split"] if twice else []))

    def nothing(self) -> str:
        """Reason why there is no question."""
        first = f"; {self.refused[0].name}: {self.refused[0].reason}" if self.refused else ""
        return f"{self.source} has no question that can be imported{first}"


def _digest(one: Question) -> bytes:
    return hashlib.sha256(one.content.encode()).digest()[:16]
