"""Import of BFCL's multi-turn tasks: `import_official`. `agentgym_envs.bfcl.library` reads imported ones."""

from collections.abc import Callable
from pathlib import Path

from agentgym_envs.bfcl.dialogues import DialogueError, dialogue_of
from agentgym_envs.bfcl.documents import Documents
from agentgym_envs.bfcl.library import (
    TEXTS,
    Catalogue,
    Manifest,
    Row,
    StoredFile,
    counts,
    verify,
)
from agentgym_envs.bfcl.sources import find_tasks, read_documents_of
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport, Refused

__all__ = ["counts", "import_official", "verify"]

NOTE = (
    "the categories are variants of the same tasks: a model that was trained in one has seen those of the"
    " others"
)


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the tasks of a folder in BFCL's layout, replacing an earlier import.

    A task is imported if each call of its answer is one of the tools of its turn, with valid arguments; the
    others are refused. `progress` is called with the number of tasks read so far. Raises `DialogueError` if
    the folder has no valid task, or no documents of functions; `OSError` if something cannot be read or
    written.
    """
    if not source.is_dir():
        raise DialogueError(f"{source} is no folder")
    root = home / "bfcl"
    with draft(root, "tasks-") as folder:
        manifest, refused = _write(source, folder, progress or (lambda _: None))
        before = Catalogue.open_if_sound(home)
        publish(root, folder, manifest, before.manifest.folder if before else None)
    tasks = {split: stored.tasks for split, stored in manifest.splits.items()}
    return ImportReport(tasks, refused, notes=(NOTE,))


def _write(
    source: Path, folder: Path, progress: Callable[[int], None]
) -> tuple[Manifest, tuple[Refused, ...]]:
    texts = read_documents_of(source)
    try:
        documents = Documents(texts)
    except ValueError as problem:
        raise DialogueError(str(problem)) from None
    rows, refused = _read(source, documents, progress)
    functions = folder / "functions.json"
    functions.write_bytes(TEXTS.dump_json(texts))
    splits = {split: _stored(folder / f"{split}.jsonl", found) for split, found in rows.items()}
    stored = StoredFile(file=functions.name, sha256=file_sha256(functions))
    return Manifest(folder=folder.name, functions=stored, splits=splits), refused


def _read(
    source: Path, documents: Documents, progress: Callable[[int], None]
) -> tuple[dict[str, list[Row]], tuple[Refused, ...]]:
    rows, refused, seen = dict[str, list[Row]](), list[Refused](), set[str]()
    for number, found in enumerate(find_tasks(source), start=1):
        try:
            task, answer = found.read()
            if task.id in seen:
                raise DialogueError(f"the id {task.id!r} occurs twice")
            row = Row(id=task.id, dialogue=dialogue_of(task, answer, found.category, documents))
        except DialogueError as problem:
            refused.append(Refused(name=found.name, reason=str(problem)))
        else:
            seen.add(row.id)
            rows.setdefault(found.category, []).append(row)
        progress(number)
    if not rows:
        first = f"; the first of {len(refused)}: {refused[0].name}: {refused[0].reason}" if refused else ""
        raise DialogueError(f"{source} has no task that can be imported{first}")
    return rows, tuple(refused)


def _stored(path: Path, rows: list[Row]) -> StoredFile:
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")
    return StoredFile(file=path.name, sha256=file_sha256(path), tasks=len(rows))
