"""Reading of a folder in BFCL's layout: `read_documents_of`, `find_tasks`.

BFCL_v4_multi_turn_base.json                    tasks, a JSON object on each line
possible_answer/BFCL_v4_multi_turn_base.json    their answers
multi_turn_func_doc/gorilla_file_system.json    documents of the functions of a class
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from agentgym_envs.bfcl.dialogues import DialogueError, SourceAnswer, SourceTask, first_problem
from agentgym_envs.bfcl.documents import FILES
from agentgym_envs.import_folders import bounded_text

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
"""Categories of tasks, which are the splits of imported ones."""
MAX_BYTES = 64 << 20
MAX_LINE = 1 << 20
"""Bytes of a file, and characters of a line: those of the source are far smaller."""

_TASKS = re.compile(r"BFCL_v\d+_multi_turn_(\w+)\.json")


@dataclass(frozen=True)
class FoundTask:
    """A task of the source, which is not a dialogue yet."""

    category: str
    number: int
    """Of its line, from 1."""
    line: str
    answer: Mapping[str, Any] | None

    @property
    def name(self) -> str:
        """Its place, for messages."""
        return f"{self.category} line {self.number}"

    def read(self) -> tuple[SourceTask, SourceAnswer]:
        """The task and its answer; raises `DialogueError`."""
        try:
            task = SourceTask.model_validate_json(self.line)
            if self.answer is None:
                raise DialogueError(f"{task.id} has no answer")
            return task, SourceAnswer.model_validate(self.answer)
        except ValidationError as problem:
            raise DialogueError(first_problem(problem)) from None


def read_documents_of(source: Path) -> dict[str, str]:
    """The texts of the documents of all classes. Raises `DialogueError` if one is missing."""
    folder = source / "multi_turn_func_doc"
    missing = [name for name in FILES.values() if not (folder / f"{name}.json").is_file()]
    if missing:
        raise DialogueError(f"{folder} has no {missing[0]}.json, which describes functions")
    files = {owner: folder / f"{name}.json" for owner, name in FILES.items()}
    return {owner: bounded_text(path, MAX_BYTES, DialogueError) for owner, path in files.items()}


def find_tasks(source: Path) -> Iterator[FoundTask]:
    """All tasks of a folder, category by category. Raises `DialogueError` if there is no file of tasks, or
    one without answers.
    """
    files = {match[1]: path for path in sorted(source.iterdir()) if (match := _TASKS.fullmatch(path.name))}
    if not files.keys() & set(CATEGORIES):
        raise DialogueError(f"{source} has no file BFCL_v4_multi_turn_CATEGORY.json")
    for category in CATEGORIES:
        if category in files:
            yield from _tasks_of(category, files[category])


def _tasks_of(category: str, path: Path) -> Iterator[FoundTask]:
    answers = _answers(path.parent / "possible_answer" / path.name)
    for number, line in enumerate(_lines(path), start=1):
        yield FoundTask(category, number, line, answers.get(_id_of(line)))


def _answers(path: Path) -> dict[str, Mapping[str, Any]]:
    if not path.is_file():
        raise DialogueError(f"there is no file of answers {path}")
    return {name: json.loads(line) for line in _lines(path) if (name := _id_of(line))}


def _id_of(line: str) -> str:
    """The id of a line; '' if it has none, which its validation tells."""
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return str(cast("dict[str, object]", row).get("id", "")) if isinstance(row, dict) else ""


def _lines(path: Path) -> list[str]:
    lines = [line for line in bounded_text(path, MAX_BYTES, DialogueError).split("\n") if line.strip()]
    if any(len(line) > MAX_LINE for line in lines):
        raise DialogueError(f"{path} has a line of more than {MAX_LINE:,} characters")
    return lines
