"""Execution of a statement in a process of its own: `executed_alone`.

SQLite's heap limit holds for a process. A statement for which there is no memory left may need too much
itself, or others took it: those of other threads, open databases, other environments. In a process of its
own the answer depends on the database and the statement only.
"""

import marshal
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

TIMEOUT_S = 120.0
"""Far above what a statement may take by its own limits, also on a loaded machine."""
MAX_REASON = 500

Work = Literal["query", "change"]
"""`query`: the result of a statement. `change`: the net change of one."""
Request = tuple[Work, str | None, bytes, str, tuple[int, int]]
"""Work, file or bytes of the database, statement, and rows and characters of a query's result."""

_one_at_a_time = threading.Lock()
"""For the memory of the machine: a process may take as much as this one."""


class AloneFailed(RuntimeError):
    """A process that gave no answer, which is not the statement's fault: the episode has no reward."""


def executed_alone(
    work: Work, path: Path | None, image: bytes, sql: str, extent: tuple[int, int] = (0, 0)
) -> Any:
    """The answer to `work` as plain tuples and dictionaries; raises `AloneFailed`."""
    request: Request = (work, None if path is None else str(path), image, sql, (extent[0], extent[1]))
    with _one_at_a_time:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", "agentgym_envs.sql.alone"],
                input=marshal.dumps(request),
                capture_output=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as cause:
            raise AloneFailed(f"a statement could not be executed alone: {cause}") from None
    try:
        if done.returncode:
            raise ValueError
        return marshal.loads(done.stdout)
    except (ValueError, EOFError, TypeError):
        reason = done.stderr.decode("utf-8", "replace")[-MAX_REASON:].strip()
        raise AloneFailed(f"a statement executed alone ended with {done.returncode}: {reason}") from None
