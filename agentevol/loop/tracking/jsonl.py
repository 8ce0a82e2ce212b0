"""`metrics.jsonl` in the run's folder: the summary of each iteration as a line of JSON."""

import json
import os
from pathlib import Path

from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.sinks import TrackedRun

NAME = "metrics.jsonl"


class JsonLines:
    """Sink that appends whole lines, one for each iteration.

    A line that a kill or a full disk has cut short is removed before the next one is written.
    """

    def __init__(self, run: TrackedRun) -> None:
        self._file = run.folder / NAME
        self._there = _iterations(self._file)

    def log(self, summary: IterationSummary) -> None:
        """Append an iteration that is not there yet. Raises `OSError`, after which the file is as before."""
        if summary.iteration in self._there:
            return
        line = summary.model_dump_json().encode() + b"\n"
        with self._file.open("ab") as file:
            size = file.tell()
            try:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), size)
                raise
        self._there.add(summary.iteration)

    def close(self) -> None:
        """Do nothing: every line is written already."""


def _iterations(file: Path) -> set[int]:
    """Iterations in the file; the end of the file after the last whole line is cut off."""
    if not file.is_file():
        return set()
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(file, whole)
    return {json.loads(line)["iteration"] for line in content[:whole].splitlines()}
