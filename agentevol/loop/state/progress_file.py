"""Progress of a run as a file, `progress.json` in its folder, for those who look on from outside.

{"state": "running", "phase": "explore train", "iteration": 2, "done": 40, "total": 160, "unit": "episodes",
 "per_s": 5.1, "won": 22, "failed": 0, ...}
"""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from agentevol.core.errors import RunStopped
from agentevol.core.files import write_atomically
from agentgym_envs.core import Record

NAME = "progress.json"
EVERY_S = 1.0
"""Least time between two writes within a phase."""


class RunProgress(Record):
    """Progress of a run."""

    state: Literal["running", "finished", "stopped"] = "running"
    """A run that was killed says `running`; its process is then gone."""
    message: str = ""
    """Reason of the end of a stopped run, in a line."""
    phase: str = ""
    """For example `explore train`, `evaluate test` or `learn`; empty between phases."""
    iteration: int | None = None
    unit: Literal["episodes", "steps"] = "episodes"
    done: int = 0
    total: int | None = None
    """None while it is not known."""
    per_s: float | None = None
    """Units a second in this phase, those of a resumed one left out."""
    won: int | None = None
    failed: int | None = None
    tokens_per_s: float | None = None
    """Sampled tokens a second."""
    loss: float | None = None
    phase_began: float
    """Unix time in seconds, as the others."""
    began: float
    updated: float
    process: int
    machine: str


class ProgressFile:
    """Writer. A write that fails is dropped: the run goes on."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / NAME
        now = time.time()
        self._progress = RunProgress(
            phase_began=now, began=now, updated=now, process=os.getpid(), machine=socket.gethostname()
        )
        self._write()

    def begin(
        self, phase: str, iteration: int | None, unit: Literal["episodes", "steps"], **values: float
    ) -> None:
        """Note the beginning of a phase; `values` are further fields."""
        kept = {name: getattr(self._progress, name) for name in ("began", "process", "machine")}
        now = time.time()
        named = {"phase": phase, "iteration": iteration, "unit": unit}
        fresh = {**kept, **named, "phase_began": now, "updated": now}
        self._progress = RunProgress.model_validate(fresh | values)
        self._write()

    def update(self, **values: float | None) -> None:
        """Note fields of the phase; written at most once in `EVERY_S`, and when it is complete."""
        now = time.time()
        complete = values.get("done") == values.get("total")
        if complete or now - self._progress.updated >= EVERY_S:
            self._progress = self._progress.model_copy(update={**values, "updated": now})
            self._write()

    def end(self, state: Literal["finished", "stopped"], message: str = "") -> None:
        """Note the end of the run."""
        changed = {"state": state, "message": message, "updated": time.time()}
        self._progress = self._progress.model_copy(update=changed)
        self._write()

    def _write(self) -> None:
        with suppress(OSError, RunStopped):
            write_atomically(self._file, self._progress.model_dump_json())


def read_progress(folder: Path) -> RunProgress | None:
    """The progress of the run in a folder; None where there is none, or none that can be read."""
    try:
        return RunProgress.model_validate_json((folder / NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def is_alive(progress: RunProgress) -> bool | None:
    """Whether the process of a running run exists; None where that cannot be known: on another machine."""
    if progress.state != "running":
        return False
    if progress.machine != socket.gethostname():
        return None
    try:
        os.kill(progress.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
