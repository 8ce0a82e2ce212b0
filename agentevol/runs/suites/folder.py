"""Folder of an evaluation suite.

    suite.toml                the resolved suite; itself a valid input
    trajectories/             table of all episodes
    feedback/                 opinions about them, if there are any
    records/00-01.jsonl       records of a finished part: environment 0, model 1
    records/00-01.part        records and trajectories of a part that is being played, one line an episode
    sample/                   table of the episodes that people shall rate, with opinions in sample-feedback/
    report.html, .md, .json   the report, written again by each call

A part that has its file of records is finished. Of one that was interrupted, the episodes that had ended are
kept.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from agentevol.config.suite import SuiteConfig, load_suite
from agentevol.core.errors import ConfigError
from agentevol.core.files import write_atomically
from agentevol.loop.report.evaluations.records import EvaluationRecord, read_records
from agentevol.loop.state.run_folder import lock_folder
from agentevol.runs.suites.plan import Place
from agentgym_store.files import write_lines
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

SUITE, RECORDS, TRAJECTORIES, SAMPLE = "suite.toml", "records", "trajectories", "sample"
REPORTS = ("report.html", "report.md", "report.json")
Played = tuple[list[EvaluationRecord], list[Trajectory]]
"""Records and trajectories of the seats of an episode."""


def is_suite(path: Path) -> bool:
    """True for the folder of a suite."""
    return (path / SUITE).is_file()


def suite_in(path: Path) -> SuiteConfig:
    """The suite of a folder. Raises `ConfigError`."""
    return load_suite(path / SUITE)


def check_folder(path: Path, config: SuiteConfig) -> None:
    """Raise `ConfigError` for a folder of something else, or of another suite. The number of rated episodes
    may change.
    """
    if is_suite(path):
        before, now = (one.model_dump(exclude={"sample"}) for one in (suite_in(path), config))
        apart = [name for name in now if before[name] != now[name]]
        if apart:
            raise ConfigError(
                f"{path} has another suite, with other {', '.join(apart)}: name a new folder with --out"
            )
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} is not empty, and no suite: name a new folder with --out")


class SuiteFolder:
    """A suite on disk. Only one process at a time may play it."""

    def __init__(self, path: Path, config: SuiteConfig) -> None:
        """Begin a suite in a new folder, or continue it. Raises `ConfigError` as `check_folder`, and where
        another process plays it.
        """
        check_folder(path, config)
        path.mkdir(parents=True, exist_ok=True)
        self.path, self._lock = path, lock_folder(path)
        write_atomically(path / SUITE, config.to_toml())
        (path / RECORDS).mkdir(exist_ok=True)
        self.store = Store.open(path / TRAJECTORIES, create=True)

    def close(self) -> None:
        """Let another process play it."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_finished(self, part: Place) -> bool:
        """True where all episodes of a part are there."""
        return records_file(self.path, part).is_file()

    def begun(self, part: Place) -> list[Played]:
        """Episodes of an interrupted part that had ended. A line that was cut by a kill is left out."""
        file = _journal(self.path, part)
        found = list[Played]()
        for line in file.read_bytes().splitlines() if file.is_file() else ():
            try:
                values = json.loads(line)
                records = [EvaluationRecord.model_validate(one) for one in values["records"]]
                found.append((records, [Trajectory.model_validate(one) for one in values["trajectories"]]))
            except (ValueError, ValidationError, KeyError, TypeError):
                break  # lines are written one after the other, so nothing whole follows
        if file.is_file():
            write_lines((_line(*one) for one in found), file)
        return found

    def keep(self, part: Place, records: Sequence[EvaluationRecord], played: Sequence[Trajectory]) -> None:
        """Write an episode as soon as it ends."""
        with _journal(self.path, part).open("a", encoding="utf-8") as file:
            file.write(_line(records, played) + "\n")

    def finish(self, part: Place) -> None:
        """Put the episodes of a part into the table, and write its records. Safe to repeat after a kill."""
        played = sorted(self.begun(part), key=lambda one: one[0][0].id)
        key = {"suite": part.suite, "part": part.name}
        self.store.append([t for _, trajectories in played for t in trajectories], commit=key)
        lines = (record.model_dump_json() for records, _ in played for record in records)
        write_lines(lines, records_file(self.path, part))
        _journal(self.path, part).unlink(missing_ok=True)


def records_file(path: Path, part: Place) -> Path:
    """File of the records of a finished part."""
    environment, model = part.number
    return path / RECORDS / f"{environment:02d}-{model:02d}.jsonl"


def records_in(path: Path, part: Place) -> list[EvaluationRecord]:
    """Records of a finished part. Raises `ConfigError`."""
    return read_records(records_file(path, part))


def _journal(path: Path, part: Place) -> Path:
    return records_file(path, part).with_suffix(".part")


def _line(records: Sequence[EvaluationRecord], played: Sequence[Trajectory]) -> str:
    values = {"records": records, "trajectories": played}
    texts = (
        f'"{name}":[{",".join(one.model_dump_json() for one in members)}]' for name, members in values.items()
    )
    return "{" + ",".join(texts) + "}"
