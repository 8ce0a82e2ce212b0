"""Execution of SQL statements in a process of their own: `query`."""

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

from agentgym_store.arrow import pa
from agentgym_store.errors import StatementError, StoreError
from agentgym_store.sql.authorizer import authorize
from agentgym_store.store import Store

_REFUSED = 3  # `worker.REFUSED`: the worker is a program and is not imported
_MAX_REASON = 300
_EXHAUSTED = ("memory allocation", "MemoryError", os.strerror(errno.ENOMEM), os.strerror(errno.EAGAIN))
"""Messages of libraries where memory ends; a thread that has no memory for its stack is told as EAGAIN."""


@dataclass(frozen=True)
class Limits:
    """Limits of a statement."""

    seconds: float = 300.0
    """Duration, from the start of its process to its last row."""
    memory_bytes: int = 4 * 2**30
    """Memory beside that of the libraries; on Linux only."""


@dataclass(frozen=True)
class Result:
    """Rows of a statement, in a stream."""

    columns: tuple[str, ...]
    _process: "_Process"
    _batches: Any

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python values, once; raises `StatementError` or `StoreError` when one cannot be had."""
        while True:
            with self._process.errors():
                batch = next(self._batches, None)
            if batch is None:
                self._process.check()
                return
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@contextmanager
def query(
    store: Store, statement: str, limits: Limits | None = None, *, version: int | None = None
) -> Generator[Result]:
    """Run a statement that reads the views `episodes` and `turns` of a table, or of a version of it.

    The process of the statement ends with the block. Raises `StatementError` for a statement that cannot be
    run, or that takes more than its limits; `StoreError` for a table that cannot be read.
    """
    authorize(statement)
    bounds = limits or Limits()
    request = {
        "place": store.place.name,
        "statement": statement,
        "version": version,
        "memory_bytes": bounds.memory_bytes,
    }
    with TemporaryFile() as complaints, _started(complaints) as running:
        process = _Process(running, complaints, bounds)
        with process.limited():
            process.send(request)
            with process.errors():
                batches = pa.ipc.open_stream(running.stdout)
            yield Result(tuple(batches.schema.names), process, iter(batches))


@contextmanager
def _started(complaints: IO[bytes]) -> Generator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "agentgym_store.sql.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=complaints,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()


@dataclass
class _Process:
    """The worker of a statement."""

    running: "subprocess.Popen[bytes]"
    complaints: IO[bytes]
    limits: Limits
    is_late: bool = False

    def send(self, request: dict[str, Any]) -> None:
        """Write the request; a worker that is gone already is reported when its answer is read."""
        assert self.running.stdin is not None
        try:
            self.running.stdin.write(json.dumps(request).encode() + b"\n")
            self.running.stdin.flush()
        except BrokenPipeError:
            return

    @contextmanager
    def limited(self) -> Generator[None]:
        """A block in which the worker is killed when its time is over."""
        timer = threading.Timer(self.limits.seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextmanager
    def errors(self) -> Generator[None]:
        """Convert the end of the stream in the midst of an answer to the worker's reason."""
        try:
            yield
        except (pa.ArrowException, OSError) as cause:
            self.running.wait()
            raise self._reason() from cause

    def check(self) -> None:
        """Raise the worker's reason if its stream has ended, but not its answer."""
        if self.running.wait():
            raise self._reason()

    def _expire(self) -> None:
        self.is_late = True
        self.running.kill()

    def _reason(self) -> StoreError:
        """Reason for which the worker has no answer."""
        self.complaints.seek(0)
        said = self.complaints.read().decode("utf-8", "replace").strip()
        last = said.splitlines()[-1] if said else ""
        if self.is_late:
            return StatementError(f"the statement took longer than {self.limits.seconds:g} s")
        told = json.loads(last) if self.running.returncode == _REFUSED else None
        if told is not None and told["kind"] == "statement":
            return StatementError(told["message"])
        if any(text in said for text in _EXHAUSTED):
            return StatementError(
                f"the statement needs more than {self.limits.memory_bytes / 2**30:g} GiB of memory"
            )
        if told is not None:
            return StoreError(told["message"])
        return StatementError(
            f"the process of the statement ended with {self.running.returncode}: {last[:_MAX_REASON]}"
        )
