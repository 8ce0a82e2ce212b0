"""JSON Lines export and import: one `Trajectory` per line, every field, tokens included.

{"id": "a/1/train-7/0", "run": "a", "iteration": 1, ..., "turns": [{"action": "look", ...}], "ending": {...}}
"""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from agentgym_envs.core import Record
from agentgym_store.errors import StoreError, one_line
from agentgym_store.files import write_lines
from agentgym_store.records import Trajectory

RecordT = TypeVar("RecordT", bound=Record)

LINE_LIMIT = 256 * 2**20
"""Maximum length of a line in bytes; a longer one is an error, and does not exhaust memory."""


def export_jsonl(trajectories: Iterable[Trajectory], path: Path) -> int:
    """Write all episodes, failed ones too, and return their number; the file appears when it is complete.

    Raises `StoreError` if the disk refuses, and for a reward or log-probability that is not finite, since
    JSON has no such number.
    """
    return write_lines((line_of(episode) for episode in trajectories), path)


def line_of(episode: Trajectory) -> str:
    """The line of an episode; raises `StoreError` for a number that is not finite."""
    if not is_finite(episode):
        raise StoreError(f"episode {episode.id!r} holds a number that is not finite, which JSON cannot hold")
    return episode.model_dump_json()


def is_finite(episode: Trajectory) -> bool:
    """True if JSON can hold every number of the episode."""
    total = episode.wall_s + (episode.temperature or 0.0)
    for turn in episode.turns:
        total += turn.reward + sum(cost or 0.0 for cost in turn.costs.values())
        total += (turn.policy_s or 0.0) + (turn.environment_s or 0.0)
        if turn.sample is not None:
            total += sum(turn.sample.logprobs)
    return math.isfinite(total)


def import_jsonl(path: Path) -> Iterator[Trajectory]:
    """The episodes of a file, validated; raises `StoreError` naming file and line of the first bad one."""
    return records_in(path, Trajectory)


def records_in(path: Path, kind: type[RecordT]) -> Iterator[RecordT]:
    """The records of a file, validated; raises `StoreError` naming file and line of the first bad one."""
    try:
        with Path(path).open("rb") as file:
            yield from _parsed(file, path, kind)
    except OSError as cause:
        raise StoreError(f"cannot read {path}: {one_line(cause)}") from cause


def _parsed(file: BinaryIO, path: Path, kind: type[RecordT]) -> Iterator[RecordT]:
    number = 0
    while line := file.readline(LINE_LIMIT + 1):
        number += 1
        if len(line) > LINE_LIMIT:
            raise StoreError(f"{path}, line {number}: longer than {LINE_LIMIT} bytes")
        if line.isspace():
            continue
        try:
            yield kind.model_validate_json(line)
        except ValidationError as cause:
            error = cause.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in error["loc"]) or "line"
            raise StoreError(f"{path}, line {number}: {place}: {error['msg']}") from cause
