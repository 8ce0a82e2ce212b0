"""Verdicts of a run's episodes on disk, one file for each iteration and purpose.

    judgements/0001.json         explored episodes of iteration 1
    judgements/0001-valid.json   validation episodes

A file is complete or absent, so that a resumed run does not ask again. It names the judge, its version and
its options: scores of one run come from one judge.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from agentevol.core.algorithms.contract import Option
from agentevol.core.errors import RunStopped, one_line
from agentevol.core.files import write_atomically
from agentevol.core.judges import Verdict
from agentevol.data.judges.judging import Judged
from agentgym_envs.core import Record

FOLDER = "judgements"


class JudgeIdentity(Record):
    """Name, version and options of a judge."""

    name: str
    version: str
    options: dict[str, Option] = Field(default_factory=dict[str, Option])

    def __str__(self) -> str:
        options = "".join(f", {key}={value}" for key, value in sorted(self.options.items()))
        return f"{self.name} (version {self.version}{options})"


class VerdictRecord(Record):
    """One verdict; `score` is on the judge's own scale."""

    score: float
    reason: str = ""
    dimensions: dict[str, float] = Field(default_factory=dict[str, float])


class JudgementsFile(Record):
    """Verdicts of one judge on the episodes of an iteration."""

    judge: JudgeIdentity
    scale: tuple[float, float]
    verdicts: dict[str, VerdictRecord]
    """Verdicts by episode."""
    failed: dict[str, str]
    """Reasons of failures by episode."""

    @classmethod
    def of(cls, judge: JudgeIdentity, scale: tuple[float, float], found: Judged) -> Self:
        """Record of these verdicts."""
        verdicts = {
            name: VerdictRecord(score=one.score, reason=_text(one.reason), dimensions=dict(one.dimensions))
            for name, one in found.verdicts.items()
            if one.score is not None
        }
        return cls(
            judge=judge,
            scale=scale,
            verdicts=verdicts,
            failed={name: _text(reason) for name, reason in found.failures.items()},
        )

    def judged(self) -> Judged:
        """The recorded verdicts."""
        verdicts: Mapping[str, Verdict] = {
            name: Verdict(one.score, one.reason, one.dimensions) for name, one in self.verdicts.items()
        }
        return Judged(verdicts, self.failed)


def write_judgements(run_folder: Path, name: str, judgements: JudgementsFile) -> None:
    """Write the file of this name; it appears when it is complete."""
    write_atomically(judgements_file(run_folder, name), judgements.model_dump_json(indent=1))


def read_judgements(run_folder: Path, name: str, judge: JudgeIdentity) -> JudgementsFile | None:
    """The file of this name, None where there is none.

    Raises `RunStopped` where a file of the run is of another judge than `judge`, or cannot be read.
    """
    for other in sorted((run_folder / FOLDER).glob("*.json"))[:1]:
        _of_judge(other, judge)
    file = judgements_file(run_folder, name)
    return _of_judge(file, judge) if file.is_file() else None


def _of_judge(file: Path, judge: JudgeIdentity) -> JudgementsFile:
    try:
        found = JudgementsFile.model_validate_json(file.read_bytes())
    except ValidationError as cause:
        raise RunStopped(f"{file} cannot be read: {one_line(cause)}") from cause
    if found.judge != judge:
        raise RunStopped(
            f"{file} is of the judge {found.judge}, not {judge}: scores of two judges are not compared;"
            " begin another run, or take the earlier judge"
        )
    return found


def _text(given: str) -> str:
    """Text without lone surrogates, which no file can hold."""
    return given.encode("utf-8", "replace").decode()


def judgements_file(run_folder: Path, name: str) -> Path:
    """Place of the file of this name."""
    return run_folder / FOLDER / f"{name}.json"
