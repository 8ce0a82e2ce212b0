"""Import of BFCL's multi-turn tasks: `import_official`. `agentgym_envs.bfcl.library` reads imported ones."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym_envs.bfcl.apis import require_wheel
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
from agentgym_envs.bfcl.sources import FoundTask, find_tasks, read_documents_of
from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport, Refused

if TYPE_CHECKING:
    from agentgym_envs.bfcl.trial import Trial

__all__ = ["counts", "import_official", "verify"]

NOTE = (
    "the categories are variants of the same tasks: a model that was trained in one has seen those of the"
    " others"
)


UNPLAYED = (
    "the solutions were not played, since the wheel bfcl-eval is not installed; import again with it to learn"
    " of tasks that their solutions do not win"
)


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the tasks of a folder in BFCL's layout, replacing an earlier import.

    A task is imported if its answer has calls, each of which is one of the tools of its turn, with valid
    arguments, and, where the wheel is installed, its answer wins it; the others are refused. `progress` is
    called with the number of tasks read so far. Raises `DialogueError` if the folder has no valid task, or no
    documents of functions; `OSError` if something cannot be read or written.
    """
    if not source.is_dir():
        raise DialogueError(f"{source} is no folder")
    root = home / "bfcl"
    with draft(root, "tasks-") as folder:
        texts = read_documents_of(source)
        reading = _Reading(_documents(texts), folder, progress or (lambda _: None))
        reading.read(source)
        manifest = _write(folder, texts, reading.rows)
        before = Catalogue.open_if_sound(home)
        publish(root, folder, manifest, before.manifest.folder if before else None)
    tasks = {split: stored.tasks for split, stored in manifest.splits.items()}
    return ImportReport(tasks, tuple(reading.refused), reading.warnings(), (NOTE,))


def _documents(texts: Mapping[str, str]) -> Documents:
    try:
        return Documents(texts)
    except ValueError as problem:
        raise DialogueError(str(problem)) from None


def _write(folder: Path, texts: dict[str, str], rows: Mapping[str, list[Row]]) -> Manifest:
    functions = folder / "functions.json"
    functions.write_bytes(TEXTS.dump_json(texts))
    splits = {split: _stored(folder / f"{split}.jsonl", found) for split, found in rows.items()}
    stored = StoredFile(file=functions.name, sha256=file_sha256(functions))
    return Manifest(folder=folder.name, functions=stored, splits=splits)


class _Reading:
    """The tasks of a source by category, those that are refused, and solutions with errors."""

    def __init__(self, documents: Documents, folder: Path, progress: Callable[[int], None]) -> None:
        self.documents, self.progress = documents, progress
        self.rows = dict[str, list[Row]]()
        self.refused = list[Refused]()
        self._seen = set[str]()
        self._errors = list[str]()
        self._trial = _trial(documents, folder)

    def read(self, source: Path) -> None:
        """Read all tasks; raises `DialogueError` if none can be imported."""
        for number, found in enumerate(find_tasks(source), start=1):
            try:
                row = self._row(found)
            except DialogueError as problem:
                self.refused.append(Refused(name=found.name, reason=str(problem)))
            else:
                self.rows.setdefault(found.category, []).append(row)
            self.progress(number)
        if not self.rows:
            first = (
                f"; the first of {len(self.refused)}: {self.refused[0].name}: {self.refused[0].reason}"
                if self.refused
                else ""
            )
            raise DialogueError(f"{source} has no task that can be imported{first}")

    def _row(self, found: FoundTask) -> Row:
        """A task that can be played; raises `DialogueError`."""
        task, answer = found.read()
        if task.id in self._seen:
            raise DialogueError(f"the id {task.id!r} occurs twice")
        row = Row(id=task.id, dialogue=dialogue_of(task, answer, found.category, self.documents))
        if not any(row.dialogue.gold):
            raise DialogueError(f"{row.id}: no turn of its solution has a call, so that nothing is checked")
        if self._trial is not None:
            trial = self._trial(row, found.category)
            if trial.fault:
                raise DialogueError(f"{row.id}: {trial.fault}")
            self._errors += [f"{row.id}: {trial.error}"] if trial.error else []
        self._seen.add(row.id)
        return row

    def warnings(self) -> tuple[str, ...]:
        """Lines about solutions that were not played, or have errors."""
        if self._trial is None:
            return (UNPLAYED,)
        count = len(self._errors)
        return (f"{count} solutions have calls with errors; the first, {self._errors[0]}",) if count else ()


def _trial(documents: Documents, folder: Path) -> "Callable[[Row, str], Trial] | None":
    """Function that plays a task; None where the benchmark's classes are not installed."""
    try:
        require_wheel()
    except ModuleNotFoundError:
        return None
    from agentgym_envs.bfcl.trial import trial_of

    return trial_of(documents, folder)


def _stored(path: Path, rows: list[Row]) -> StoredFile:
    path.write_text("".join(f"{row.model_dump_json()}\n" for row in rows), encoding="utf-8")
    return StoredFile(file=path.name, sha256=file_sha256(path), tasks=len(rows))
