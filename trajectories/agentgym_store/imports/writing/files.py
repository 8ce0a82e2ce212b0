"""`import_files`: foreign files into a table of trajectories, with a report of what was dropped and why.

A new table appears when it is complete; to one that exists, episodes are added in commits of `PART` episodes.
In both cases an import that was killed is continued by the same call: commits that are there are not
repeated.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from agentgym_envs.files import file_sha256
from agentgym_store.errors import StoreError, one_line
from agentgym_store.imports.contract import Draft, Importer
from agentgym_store.imports.reading import Refusal
from agentgym_store.imports.registry import AUTO, detected, importer
from agentgym_store.imports.writing.drafts import Supplied, episode_of, notes_of, task_of
from agentgym_store.imports.writing.replay import Replayer, ReplayReport
from agentgym_store.records import Trajectory
from agentgym_store.rows import to_batch
from agentgym_store.store import Store
from agentgym_store.urls import is_url

PART = 1_000
"""Episodes of one commit."""
PLACES = 3
"""Places that are named for each reason."""
TAKEN = "an id that is taken"
UNSTORABLE = "a value that the table cannot hold"


@dataclass
class Dropped:
    """Records that were dropped for one reason."""

    count: int = 0
    places: list[str] = field(default_factory=list[str])
    """The first ones."""


@dataclass
class ImportReport:
    """Counts of an import."""

    out: str
    formats: dict[str, str] = field(default_factory=dict[str, str])
    """File -> format."""
    read: int = 0
    """Records."""
    imported: int = 0
    """Episodes that are in the table now, those of an earlier call included."""
    already: int = 0
    """Of these, those that an earlier call had brought."""
    environments: dict[str, int] = field(default_factory=dict[str, int])
    """Environment -> episodes."""
    successes: int = 0
    dropped: dict[str, Dropped] = field(default_factory=dict[str, Dropped])
    """Reason -> records."""
    notes: dict[str, int] = field(default_factory=dict[str, int])
    """Omission or assumption -> episodes."""
    replay: ReplayReport | None = None

    def drop(self, place: str, refusal: Refusal) -> None:
        """Count a record that is not imported."""
        dropped = self.dropped.setdefault(refusal.reason, Dropped())
        dropped.count += 1
        if len(dropped.places) < PLACES:
            dropped.places.append(f"{place}: {refusal.detail}" if refusal.detail else place)

    def count(self, episodes: Sequence[Trajectory], *, already: bool) -> None:
        """Count episodes that are in the table."""
        self.imported += len(episodes)
        self.already += len(episodes) * already
        self.successes += sum(episode.succeeded() for episode in episodes)
        _add(self.environments, (episode.env for episode in episodes))


def _add(counts: dict[str, int], names: Iterable[str]) -> None:
    for name in names:
        counts[name] = counts.get(name, 0) + 1


def import_files(
    files: Sequence[Path],
    out: Path | str,
    supplied: Supplied | None = None,
    *,
    format_name: str = AUTO,
    replayer: Replayer | None = None,
    progress: Callable[[int], None] = lambda records: None,
) -> ImportReport:
    """Import the episodes of files into a table, a new one or one that exists; a string is a URL.

    `format_name` is one of `IMPORTERS`, or `auto`: each file's first record tells it. `supplied` is what the
    records do not tell. Episodes are checked by the `replayer`, and imported whatever it finds. Raises
    `StoreError`, also where no record is an episode.
    """
    wanted = supplied or Supplied()
    readers = [(file, detected(file) if format_name == AUTO else importer(format_name)) for file in files]
    for file, reader in readers:
        _check_effect(file, reader, wanted)
    report = ImportReport(str(out), {str(file): reader.name for file, reader in readers})
    sources = [file_sha256(file) for file in files]
    with _table(out, _identity(sources, readers, wanted)) as store:
        job = _Job(store, wanted, report, replayer, progress)
        for (file, reader), source in zip(readers, sources, strict=True):
            job.read(file, reader, source)
    if not report.imported:
        raise StoreError(f"no record is an episode: {_reasons(report)}")
    report.replay = replayer.report() if replayer else None
    return report


def _reasons(report: ImportReport) -> str:
    found = [f"{reason} ({one.count:,}, first {one.places[0]})" for reason, one in report.dropped.items()]
    return "; ".join(found) or "the files are empty"


def _check_effect(file: Path, reader: Importer, supplied: Supplied) -> None:
    """Refuse what is supplied for whole episodes, which tell it themselves."""
    given = [name for name, value in asdict(supplied).items() if value != getattr(Supplied(), name)]
    if reader.lossless and given:
        verb = "has" if len(given) == 1 else "have"
        raise StoreError(
            f"{', '.join(given)} {verb} no effect on {file}: its episodes ({reader.name}) are whole"
        )


def _identity(sources: Sequence[str], readers: Sequence[tuple[Path, Importer]], supplied: Supplied) -> str:
    told = [sources, [reader.name for _, reader in readers], asdict(supplied)]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@contextmanager
def _table(out: Path | str, identity: str) -> Generator[Store]:
    """The table that exists, or a new one, which takes its place when the block ends, unless it is empty."""
    if is_url(out) or Store.exists(out):
        yield Store.open(out)
        return
    place = Path(out).expanduser()
    if place.exists():
        raise StoreError(f"{place} exists and is not a table of trajectories; name a new folder")
    parts = place.with_name(f".{place.name}.import")
    partial = parts / identity[:16]
    try:
        partial.mkdir(parents=True, exist_ok=True)
        store = Store.open(partial)
        yield store
        if store.count():
            partial.rename(place)
        shutil.rmtree(parts)
    except OSError as cause:
        raise StoreError(f"cannot write {place}: {one_line(cause)}") from cause


class _Job:
    """An import into an open table."""

    def __init__(
        self,
        store: Store,
        supplied: Supplied,
        report: ImportReport,
        replayer: Replayer | None,
        progress: Callable[[int], None],
    ) -> None:
        self._store, self._supplied, self._report = store, supplied, report
        self._replayer, self._progress = replayer, progress
        self._attempts = Counter[tuple[str, str]]()
        self._ids = set[str]()
        self._is_current = False
        """True if `_ids` has those that the table had when this call first added to it."""

    def read(self, file: Path, reader: Importer, source: str) -> None:
        """Import a file whose content has the hash `source`."""
        episodes = self._episodes(file, reader, source)
        settings = hashlib.sha256(json.dumps(asdict(self._supplied)).encode()).hexdigest()[:16]
        key = {"import": source, "format": reader.name, "settings": settings}
        number = 0
        while part := list(islice(episodes, PART)):
            self._append(part, {**key, "part": str(number)})
            self._progress(self._report.read)
            number += 1

    def _episodes(self, file: Path, reader: Importer, source: str) -> Iterator[tuple[str, Trajectory]]:
        """Episodes with their places; what is none is dropped."""
        for number, (place, found) in enumerate(reader.episodes(file), start=1):
            self._report.read += 1
            try:
                yield place, self._checked(found, reader, source, number)
            except Refusal as refusal:
                self._report.drop(place, refusal)

    def _checked(
        self, found: Draft | Trajectory | Refusal, reader: Importer, source: str, number: int
    ) -> Trajectory:
        if isinstance(found, Refusal):
            raise found
        if isinstance(found, Trajectory):
            return found
        task = (self._supplied.env or found.env or "", task_of(found, source, number))
        episode = episode_of(
            found,
            self._supplied,
            source=source,
            number=number,
            attempt=self._attempts[task],
            policy=reader.name,
        )
        self._attempts[task] += 1
        _add(self._report.notes, notes_of(found))
        return episode

    def _append(self, part: list[tuple[str, Trajectory]], key: dict[str, str]) -> None:
        done = self._store.committed(**key)
        self._know(done)
        kept = self._new(part)
        if done is None:
            self._store.append(kept, commit=key)
        self._ids.update(episode.id for episode in kept)
        self._report.count(kept, already=done is not None)
        if self._replayer is not None:
            for episode in kept:
                self._replayer.check(episode)

    def _know(self, done: int | None) -> None:
        """Read the ids that the table had before this part was added, in version `done` if it was."""
        if self._is_current or (done is not None and self._ids):
            return
        before = None if done is None else done - 1
        self._ids.update(name for (name,) in self._store.rows(("id",), version=before))
        self._is_current = done is None

    def _new(self, part: list[tuple[str, Trajectory]]) -> list[Trajectory]:
        """The episodes whose ids are not taken, and which the table can hold."""
        seen, kept = set[str](), list[tuple[str, Trajectory]]()
        for place, episode in part:
            if episode.id in self._ids or episode.id in seen:
                self._report.drop(place, Refusal(TAKEN, episode.id))
                continue
            seen.add(episode.id)
            kept.append((place, episode))
        try:
            to_batch([episode for _, episode in kept])
        except StoreError:
            kept = [one for one in kept if self._is_storable(*one)]
        return [episode for _, episode in kept]

    def _is_storable(self, place: str, episode: Trajectory) -> bool:
        try:
            to_batch([episode])
        except StoreError as cause:
            self._report.drop(place, Refusal(UNSTORABLE, one_line(cause)))
            return False
        return True
