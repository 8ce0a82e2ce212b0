"""Imported questions: where they are, and whether they are whole.

home/questions/manifest.json        counts and hash; written last
home/questions/tasks-.../tasks.jsonl
"""

from pathlib import Path
from typing import Final, Literal

from agentgym_envs.core import Record
from agentgym_envs.import_folders import MANIFEST, difference, read_manifest
from agentgym_envs.import_report import FileName
from agentgym_envs.questions.records import QuestionsError

FOLDER: Final = "questions"
TASKS: Final = "tasks.jsonl"
IMPORTED: Final = "imported"
"""Value of the option `file` for the imported questions."""


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    sha256: str
    """Hash of the file of questions."""
    counts: dict[str, int]
    """Questions by split."""


def imported_file(home: Path) -> Path:
    """The file of imported questions. Raises `QuestionsError` where there is none."""
    manifest = manifest_of(home)
    if manifest is None:
        raise QuestionsError("no questions were imported: agentevol data import questions PATH")
    return home / FOLDER / manifest.folder / TASKS


def counts(home: Path) -> dict[str, int] | None:
    """Questions by split; None if nothing was imported."""
    manifest = manifest_of(home)
    return None if manifest is None else dict(manifest.counts)


def verify(home: Path) -> list[str]:
    """Differences between the imported file and the manifest."""
    try:
        manifest = manifest_of(home)
    except QuestionsError as cause:
        return [str(cause)]
    if manifest is None:
        return []
    found = difference(home / FOLDER / manifest.folder / TASKS, manifest.sha256)
    return [] if found is None else [found]


def manifest_of(home: Path) -> Manifest | None:
    """The manifest; None if nothing was imported. Raises `QuestionsError` for a broken one."""
    return read_manifest(home / FOLDER / MANIFEST, Manifest, QuestionsError)
