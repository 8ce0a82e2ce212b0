"""Imported questions: where they are, and whether they are whole.

home/questions/manifest.json        counts and hash; written last
home/questions/tasks-.../tasks.jsonl
"""

from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import MANIFEST
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
    path = home / FOLDER / manifest.folder / TASKS
    if not path.is_file():
        return [f"{path} is missing: import the data again"]
    if file_sha256(path) != manifest.sha256:
        return [f"{path} has changed since it was imported: import the data again"]
    return []


def manifest_of(home: Path) -> Manifest | None:
    """The manifest; None if nothing was imported. Raises `QuestionsError` for a broken one."""
    path = home / FOLDER / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as cause:
        raise QuestionsError(f"{path} is broken: import the data again") from cause
