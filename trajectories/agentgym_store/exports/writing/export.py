"""`export`: a data set from the episodes of a table, in bounded memory, continued after a kill.

A part of the episodes is read, converted, and collected on disk; from time to time what is there is noted
(`progress`). At the end the rows are divided into files, the data card is written, and all of it appears at
once.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agentgym_store.errors import StoreError, one_line
from agentgym_store.exports.contract import Exported, ExportFormat, Tally
from agentgym_store.exports.writing.card import Origin, Written, card
from agentgym_store.exports.writing.facts import Facts
from agentgym_store.exports.writing.grouping import bucket, bucket_count, distribute
from agentgym_store.exports.writing.plan import Plan, check, is_file
from agentgym_store.exports.writing.progress import Progress, discard, progress_of
from agentgym_store.exports.writing.selection import Selection
from agentgym_store.exports.writing.shards import DataFile, Spools, divided, encoded
from agentgym_store.exports.writing.sources import Position, Source
from agentgym_store.files import whole_file
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

CHECKPOINT_S = 2.0
"""Seconds of work that a killed export repeats at most, beside the part it was at."""
REPEATED = "repeated rows"

Parts = Iterator[tuple[list[Trajectory], list[int]]]
"""Parts of the episodes, each with the position after it as a JSON value."""


@dataclass(frozen=True)
class Report:
    """Summary of an export."""

    out: Path
    rows: dict[str, int]
    """By split."""
    episodes: int
    """Episodes of which there are rows."""
    left_out: dict[str, int]
    """Reason -> number."""
    files: tuple[DataFile, ...]
    card: Path
    version: int
    """Version of the table."""
    continued: bool
    """True if an earlier, killed export was continued."""


def export(
    store: Store,
    export_format: ExportFormat,
    out: Path,
    *,
    selection: Selection | None = None,
    version: int | None = None,
    plan: Plan | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> Report:
    """Write the selected episodes of a table as a data set `out`: a file with its card, or a folder.

    The rows are those of the table's `version`, None: the newest. `progress` is called with the number of
    rows. An export that was killed is continued by the same call, with the same version, and ends with the
    same bytes. Raises `FileExistsError` where `out` exists, and `StoreError`.
    """
    wanted, chosen = plan or Plan(), selection or Selection()
    check(out, wanted)
    identity = _identity(store, export_format, out, chosen, version, wanted)
    with progress_of(out, identity) as kept:
        pinned = kept.state("version")
        source = Source(store, chosen, version if pinned is None else pinned)
        kept.checkpoint(version=source.version)
        job = _Job(source, export_format, wanted, kept)
        continued = job.run(progress)
        if not job.has_rows:
            discard(kept)
            raise StoreError(f"no rows to write to {out}: {job.reasons()}")
        report = job.publish(out, continued=continued)
        discard(kept)
    return report


def _identity(
    store: Store,
    export_format: ExportFormat,
    out: Path,
    selection: Selection,
    version: int | None,
    plan: Plan,
) -> str:
    """Text that differs where another data set is wanted."""
    return json.dumps(
        {
            "table": store.place.name,
            "version": version,
            "format": [export_format.name, dict(export_format.options)],
            "filters": selection.terms(),
            "plan": asdict(plan),
            "file": is_file(out),
        },
        default=str,
    )


class _Job:
    """An export between its checkpoints."""

    def __init__(self, source: Source, export_format: ExportFormat, plan: Plan, progress: Progress) -> None:
        self._source, self._format, self._plan, self._progress = source, export_format, plan, progress
        self._distinct = export_format.distinct if plan.distinct is None else plan.distinct
        self._tally = Tally.of(progress.state("tally"))
        self._facts = Facts.of(progress.state("facts"))

    def run(self, shown: Callable[[int], None]) -> bool:
        """Collect all rows; True if an earlier export had begun to."""
        position: list[int] | None = self._progress.state("position")
        sizes: dict[str, int] = self._progress.state("sizes") or {}
        spools = Spools(self._progress.folder, self._plan.splits, sizes)
        try:
            saved = time.monotonic()
            for episodes, after in self._parts(position):
                self._collect(episodes, spools)
                shown(sum(self._facts.rows.values()))
                if time.monotonic() - saved >= CHECKPOINT_S:
                    self._checkpoint(spools, after)
                    saved = time.monotonic()
            self._checkpoint(spools, None)
        except OSError as cause:
            raise StoreError(f"cannot write {self._progress.folder}: {one_line(cause)}") from cause
        finally:
            spools.close()
        return position is not None

    @property
    def has_rows(self) -> bool:
        """True if there is a row in any split."""
        return any(self._facts.rows.values())

    def reasons(self) -> str:
        """Reasons for which there are no rows."""
        left_out = [f"{count:,} {reason}" for reason, count in self._left_out().items()]
        return ", ".join(left_out) or "no episode of the table matches the filters"

    def publish(self, out: Path, *, continued: bool) -> Report:
        """Divide the rows into files, and make them appear together with their card."""
        folder = self._progress.folder / "dataset"
        _remove(folder)
        single = is_file(out)
        target = folder / out.name
        try:
            splits = [split for split in self._plan.splits if self._facts.rows.get(split)]
            files = [file for split in splits for file in self._files(split, target, single)]
            text = self._card(out, files)
            place = out.with_name(f"{out.name}.README.md") if single else out / "README.md"
            with whole_file(place if single else target / "README.md") as stream:
                stream.write(text.encode())
            target.rename(out)
        except OSError as cause:
            raise StoreError(f"cannot write {out}: {one_line(cause)}") from cause
        return Report(
            out=out,
            rows={split: self._facts.rows.get(split, 0) for split in self._plan.splits},
            episodes=sum(group.episodes for group in self._facts.environments.values()),
            left_out=self._left_out(),
            files=tuple(files),
            card=place,
            version=self._source.version,
            continued=continued,
        )

    def _left_out(self) -> dict[str, int]:
        return {reason: count for reason, count in sorted(self._tally.left_out.items()) if count}

    def _parts(self, position: list[int] | None) -> Parts:
        if self._progress.state("collected"):
            return
        if self._format.by_task:
            yield from self._by_task(0 if position is None else position[0])
            return
        start = Position() if position is None else Position(*position)
        for batch, after in self._source.batches(start):
            yield self._source.episodes(batch, contexts=self._format.needs_contexts), list(after)

    def _by_task(self, start: int) -> Parts:
        """All episodes of some tasks at a time."""
        folder = self._progress.folder / "tasks"
        buckets: int | None = self._progress.state("buckets")
        if buckets is None:
            buckets = bucket_count(self._source.turns())
            _remove(folder)
            if buckets > 1:
                distribute(self._source, folder, buckets)
            self._progress.checkpoint(buckets=buckets)
        if buckets == 1:
            batches = (batch for batch, _ in self._source.batches())
            yield [t for batch in batches for t in self._source.episodes(batch, contexts=False)], [1]
            return
        for number in range(start, buckets):
            yield bucket(self._source, folder, number), [number + 1]

    def _collect(self, episodes: list[Trajectory], spools: Spools) -> None:
        """Convert a part of the episodes, and append its rows to the files of their splits."""
        kept: dict[str, list[Exported]] = {}
        for exported in self._format.rows(episodes, self._tally):
            if not self._is_wanted(exported):
                continue
            first = exported.episodes[0]
            split = self._plan.split_of(first.env, first.task_id)
            self._progress.note_task(split, f"{first.env}/{first.task_id}")
            row = self._format.numbered(exported, self._tally)
            kept.setdefault(split, []).append(exported._replace(row=row))
        for split, rows in kept.items():
            spools.write(split, encoded(self._format, [exported.row for exported in rows]))
            self._facts.add(split, rows)

    def _is_wanted(self, exported: Exported) -> bool:
        if not self._distinct:
            return True
        content = json.dumps(self._format.content(exported.row), ensure_ascii=False, sort_keys=True)
        is_new = self._progress.is_new(hashlib.sha256(content.encode()).digest()[:16])
        self._tally.left_out[REPEATED] += not is_new
        return is_new

    def _checkpoint(self, spools: Spools, position: list[int] | None) -> None:
        """Note what is on disk; without a position everything is."""
        state: dict[str, Any] = {"collected": True} if position is None else {"position": position}
        self._progress.checkpoint(
            sizes=spools.sync(), facts=self._facts.as_state(), tally=self._tally.as_state(), **state
        )

    def _files(self, split: str, target: Path, single: bool) -> list[DataFile]:
        spool = self._progress.folder / f"{split}.rows"
        rows = self._facts.rows.get(split, 0)
        return divided(spool, rows, split, self._format, self._plan, target, single)

    def _card(self, out: Path, files: list[DataFile]) -> str:
        source = self._source
        origin = Origin(source.version, source.digest, source.selection.terms())
        written = Written(self._facts, self._tally, self._progress.tasks(), files)
        return card(out.stem if is_file(out) else out.name, self._format, origin, written, self._distinct)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
