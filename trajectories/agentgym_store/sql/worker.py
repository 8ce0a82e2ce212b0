"""Process that runs one statement: `python -m agentgym_store.sql.worker`, started by `query`.

Its standard input is a line of JSON, the request, and stays open as long as somebody waits for the answer;
its standard output is an Arrow stream. A refusal is a line of JSON on standard error, with exit code 3.
"""

import json
import os
import resource
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl

from agentgym_store.arrow import pa
from agentgym_store.errors import StatementError, StoreError, one_line
from agentgym_store.sql.authorizer import authorize_plan
from agentgym_store.sql.views import views
from agentgym_store.store import Store
from agentgym_store.table.frames import arrow_table
from agentgym_store.urls import named

REFUSED = 3
"""Exit code of a worker that says why it has no answer."""
_ROWS = 10_000
"""Rows of a batch of the answer."""


def main() -> None:
    """Answer the request on standard input."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        _answer(request)
    except StoreError as cause:
        kind = "statement" if isinstance(cause, StatementError) else "table"
        sys.stderr.write(json.dumps({"kind": kind, "message": str(cause)}) + "\n")
        sys.stderr.flush()
        os._exit(REFUSED)
    sys.stdout.flush()
    os._exit(0)  # at once: threads of polars may still read


def _end_with_input() -> None:
    """End this process when the one that waits for it ends, whatever the statement does."""
    sys.stdin.read()
    os._exit(1)


def _answer(request: dict[str, Any]) -> None:
    store = Store.open(named(request["place"]), create=False)
    failures: list[StoreError] = []
    found = views(store, request["version"], failures.append)
    _limit_memory(request["memory_bytes"])
    try:
        frame: Any = pl.SQLContext(found).execute(request["statement"], eager=False)
        authorize_plan(frame.explain(optimized=False))
        _write(frame)
    except pl.exceptions.PolarsError as cause:
        if failures:
            raise failures[0] from cause
        raise StatementError(_told(cause)) from cause


def _write(frame: pl.LazyFrame) -> None:
    """Write the rows of a query as they are found."""
    schema = arrow_table(pl.DataFrame(schema=frame.collect_schema())).schema
    with pa.ipc.new_stream(sys.stdout.buffer, schema) as stream:
        stream.write_batch(pa.RecordBatch.from_pylist([], schema))  # the columns are known before the rows
        sys.stdout.buffer.flush()
        for part in frame.collect_batches(chunk_size=_ROWS, engine="streaming"):
            stream.write_table(arrow_table(part).cast(schema))
            sys.stdout.buffer.flush()


def _told(cause: pl.exceptions.PolarsError) -> str:
    text = one_line(cause)
    missing = "relation" in text and "not found" in text
    return f"{text}; there are episodes and turns" if missing else text


def _limit_memory(memory_bytes: int) -> None:
    """Let allocations fail beyond the present memory and `memory_bytes`, where the system can (Linux)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    except (OSError, ValueError):
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (pages * resource.getpagesize() + memory_bytes, hard))


if __name__ == "__main__":
    main()
