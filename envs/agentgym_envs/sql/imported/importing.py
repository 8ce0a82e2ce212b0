"""Import of databases with questions: `import_official`.

The source is a folder with `tasks.json`, a list of `{"db", "gold", "query", "hardness"}`, and `DB.sqlite` for
each `db`. Variants are made and the tasks judged once, here; an episode reads files only. The new folder is
complete before the manifest names it, so an interrupted import changes nothing.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from agentgym_envs.files import file_sha256
from agentgym_envs.import_folders import draft, publish
from agentgym_envs.import_report import ImportReport, Refused
from agentgym_envs.sql.executor.database import Database, Source
from agentgym_envs.sql.imported.library import (
    SPLITS,
    TASK_LIST,
    TASKS,
    DatabaseName,
    Figures,
    ImportedTask,
    Library,
    LibraryError,
    Manifest,
    counts,
    file_name,
    verify,
)
from agentgym_envs.sql.variants.resampling import VERSION, variant
from agentgym_envs.sql.variants.schema import Table, read_schema
from agentgym_envs.sql.variants.service import MOST, Service, judge

__all__ = ["ImportReport", "counts", "import_official", "verify"]

VALID = ("orchestra", "tvshow")
TEST = ("car_1", "concert_singer", "dog_kennels", "world_1")
"""Databases of Spider's development set by split; others are for training."""
MAX_DATABASE_BYTES = 16 * 1024 * 1024
MAX_TASKS_BYTES = 64 * 1024 * 1024

Progress = Callable[[int], None]


class SourceTask(BaseModel):
    """A task as its source writes it; other fields are not read."""

    db: DatabaseName
    gold: str
    query: str
    hardness: str = ""


SOURCE_TASKS = TypeAdapter(list[SourceTask])


def import_official(source: Path, home: Path, progress: Progress | None = None) -> ImportReport:
    """Import the tasks of a folder that its databases can judge, replacing an earlier import.

    `progress` is called with the number of tasks judged so far. Raises `LibraryError` if no task can be
    served or the source is not of the form above, `OSError` if something cannot be read or written.
    """
    tasks = _source_tasks(source)
    root = home / "sql"
    with draft(root, "data-") as folder:
        importing = _Import(source, folder, progress or (lambda _: None))
        for name in dict.fromkeys(task.db for task in tasks):
            importing.add(name, [(number, task) for number, task in enumerate(tasks) if task.db == name])
        manifest = importing.finished()
        publish(root, folder, manifest, _before(root))
    return ImportReport(dict(manifest.splits), tuple(importing.refused), notes=_notes(manifest))


def _source_tasks(source: Path) -> list[SourceTask]:
    path = source / TASKS
    if not path.is_file():
        raise LibraryError(f"{source} has no {TASKS} beside its .sqlite files")
    if path.stat().st_size > MAX_TASKS_BYTES:
        raise LibraryError(f"{path} has more than {MAX_TASKS_BYTES:,} bytes")
    try:
        return SOURCE_TASKS.validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise LibraryError(f"{path}: {place}: {first['msg']}") from None


class _Import:
    """State of one import."""

    def __init__(self, source: Path, folder: Path, progress: Progress) -> None:
        self.source, self.folder, self.progress = source, folder, progress
        self.served = list[tuple[int, ImportedTask]]()
        self.refused = list[Refused]()
        self.figures = dict[str, Figures]()
        self.judged = 0

    def add(self, name: str, tasks: Sequence[tuple[int, SourceTask]]) -> None:
        """Add the tasks of one database that can be served."""
        try:
            image = _image(self.source / f"{name}.sqlite")
            schema = _checked(image)
        except LibraryError as error:
            self.refused += [Refused(f"{name}/{number}", str(error)) for number, _ in tasks]
            return
        golds = list(dict.fromkeys(task.gold for _, task in tasks))
        (self.folder / file_name(name, 0)).write_bytes(image)
        for number in range(1, MOST + 1):
            (self.folder / file_name(name, number)).write_bytes(variant(image, golds, name, number))
        databases = [Source(self.folder / file_name(name, number)).opened() for number in range(MOST + 1)]
        try:
            self._judge(name, tasks, databases, schema)
        finally:
            for database in databases:
                database.close()

    def _judge(
        self,
        name: str,
        tasks: Sequence[tuple[int, SourceTask]],
        databases: Sequence[Database],
        schema: Sequence[Table],
    ) -> None:
        known, figures = dict[str, Service](), Counter[str](tasks=len(tasks))
        for number, task in tasks:
            service = known.get(task.gold) or judge(databases, task.gold, schema)
            known[task.gold] = service
            if service.served:
                self.served.append((number, _served(name, number, task, service)))
                killed, alive = len(service.killed), len(service.alive)
                figures.update(served=1, mutants=killed + alive, killed=killed)
            else:
                self.refused.append(Refused(f"{name}/{number}", service.reason))
            self.judged += 1
            self.progress(self.judged)
        counted = {key: figures[key] for key in Figures.model_fields}
        self.figures[name] = Figures.model_validate(counted)

    def finished(self) -> Manifest:
        """The manifest of the written folder; raises `LibraryError` if no task is served."""
        if not self.served:
            first = f"; the first: {self.refused[0].name}: {self.refused[0].reason}" if self.refused else ""
            raise LibraryError(f"{self.source} has no task that can be served{first}")
        tasks = [task for _, task in sorted(self.served, key=lambda one: one[0])]
        (self.folder / TASKS).write_bytes(TASK_LIST.dump_json(tuple(tasks)))
        found = Counter(task.split for task in tasks)
        return Manifest(
            folder=self.folder.name,
            variants=VERSION,
            files={path.name: file_sha256(path) for path in sorted(self.folder.iterdir())},
            databases=self.figures,
            splits={split: found[split] for split in SPLITS if found[split]},
        )


def _image(path: Path) -> bytes:
    """The bytes of a database file; raises `LibraryError` for one that is not read."""
    if path.is_symlink() or not path.is_file():
        raise LibraryError(f"there is no file {path.name}")
    if path.stat().st_size > MAX_DATABASE_BYTES:
        raise LibraryError(f"{path.name} has more than {MAX_DATABASE_BYTES:,} bytes")
    return path.read_bytes()


def _checked(image: bytes) -> list[Table]:
    """The schema of a database; raises `LibraryError` for one that is damaged, empty or more than tables."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(image)
        kinds = {kind for (kind,) in connection.execute("SELECT DISTINCT type FROM sqlite_master")}
        virtual = connection.execute(
            "SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'"
        ).fetchone()
        if not kinds <= {"table", "index"} or virtual:
            raise LibraryError("the database has views, triggers or virtual tables")
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise LibraryError("the database is damaged")
        tables = read_schema(connection)
        rows = [connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0] for table in tables]
    except sqlite3.Error as error:
        raise LibraryError(f"the database is damaged: {error}") from None
    finally:
        connection.close()
    if not any(rows):
        raise LibraryError("the database has no rows")
    return tables


def _served(name: str, number: int, task: SourceTask, service: Service) -> ImportedTask:
    kind = "valid" if name in VALID else "test" if name in TEST else "train"
    return ImportedTask(
        id=f"{name}/{number}",
        database=name,
        split=f"imported_{kind}",
        question=" ".join(task.query.split()),
        gold=task.gold,
        difficulty=task.hardness,
        counting=service.counting,
    )


def _notes(manifest: Manifest) -> tuple[str, ...]:
    figures = manifest.databases.values()
    served, tasks = (sum(one.served for one in figures), sum(one.tasks for one in figures))
    killed, mutants = (sum(one.killed for one in figures), sum(one.mutants for one in figures))
    return (
        f"{served:,} of {tasks:,} tasks in databases with rows are served; "
        f"{100 * killed / max(1, mutants):.1f} % of the {mutants:,} mutants of their golds differ from them",
    )


def _before(root: Path) -> str | None:
    """Folder of the data that are imported now."""
    try:
        found = Library.open(root.parent)
    except LibraryError:
        return None
    return found.manifest.folder if found else None
