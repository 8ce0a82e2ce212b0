"""Program that executes one statement for another process: it reads a request and writes the answer."""

import marshal
import sys
from pathlib import Path
from typing import Any

from agentgym_envs.sql.alone.process import Request
from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.executor.limits import Extent
from agentgym_envs.sql.writing.changes import change_here


def answer(request: Request) -> Any:
    """The answer to a request. A statement that needs more memory than there is has reached a limit."""
    work, path, image, sql, extent = request
    source = Source(Path(path) if path else None, image)
    if work == "change":
        change = change_here(source, sql, alone=True)
        return change.status, change.changed, change.inserted
    result = source.opened(alone=True).run(sql, Extent(*extent))
    return result.status, result.columns, result.rows, result.message


if __name__ == "__main__":
    sys.stdout.buffer.write(marshal.dumps(answer(marshal.loads(sys.stdin.buffer.read()))))
