"""Imported questions: where they are, and whether they are whole."""

from pathlib import Path
from typing import Final

from agentgym_envs.import_folders import ImportedFile
from agentgym_envs.questions.records import QuestionsError

QUESTIONS: Final = ImportedFile("questions", "tasks.jsonl", QuestionsError)
"""The imported questions."""
IMPORTED: Final = "imported"
"""Value of the option `file` for the imported questions."""


def imported_file(home: Path) -> Path:
    """The file of imported questions. Raises `QuestionsError` where there is none."""
    manifest = QUESTIONS.manifest(home)
    if manifest is None:
        raise QuestionsError("no questions were imported: agentevol data import questions PATH")
    return QUESTIONS.path(home, manifest)
