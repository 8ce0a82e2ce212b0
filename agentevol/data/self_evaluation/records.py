"""Scores of self-evaluation on disk: `self/0001.json` in a run's folder, one file for each iteration.

{"judge": "base", "version": "5d0c...", "scores": {"first/explore/0001/guess-1/0": 0.8125}, "failed": {}}

A file is complete or absent, so that a resumed run does not judge again.
"""

from pathlib import Path

from pydantic import Field, ValidationError

from agentevol.core.errors import RunStopped, one_line
from agentevol.core.files import write_atomically
from agentgym_envs.core import Record

FOLDER = "self"


class SelfScores(Record):
    """Scores of the explored episodes of an iteration."""

    judge: str
    """`self.judge`."""
    name: str
    """Name of the judging weights: `base`, `0002`, or the judge."""
    version: str
    """Version of the rubric, and what an endpoint was asked for."""
    scores: dict[str, float]
    """Scores by episode, in [0, 1]."""
    failed: dict[str, str] = Field(default_factory=dict[str, str])
    """Reasons by episode, where there is no score."""
    digit_mass: float | None = None
    """Mean probability of any digit; None of samples."""


def scores_file(run_folder: Path, iteration: int) -> Path:
    """Place of the scores of an iteration."""
    return run_folder / FOLDER / f"{iteration:04d}.json"


def write_scores(run_folder: Path, iteration: int, found: SelfScores) -> None:
    """Write the scores of an iteration; the file appears when it is complete."""
    write_atomically(scores_file(run_folder, iteration), found.model_dump_json(indent=1))


def read_scores(run_folder: Path, iteration: int, judge: str, version: str) -> SelfScores | None:
    """Scores of an iteration; None where there are none yet.

    Raises `RunStopped` where they cannot be read, or are of another judge or version.
    """
    file = scores_file(run_folder, iteration)
    if not file.is_file():
        return None
    try:
        found = SelfScores.model_validate_json(file.read_bytes())
    except ValidationError as cause:
        raise RunStopped(f"{file} cannot be read: {one_line(cause)}") from cause
    if (found.judge, found.version) != (judge, version):
        raise RunStopped(
            f"{file} is of the judge {found.judge} (version {found.version}), not {judge} (version"
            f" {version}): begin another run"
        )
    return found
