"""Fork server of worker processes: it builds the environments once and forks a worker on request.

The data that the environments load is in memory once, for any number of workers, and a replacement starts
within milliseconds. An environment that starts threads while it loads cannot be forked safely: then every
worker is a process that loads its own copy.

The request is one byte, with the worker's end of its connection attached: `FORK`, or `BECOME` for the process
to be the worker itself. The response is a frame: `{"pid": 123}`.
"""

import asyncio
import atexit
import gc
import logging
import multiprocessing
import os
import select
import signal
import socket
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from agentgym_server.workers import frames
from agentgym_server.workers.hosts import Factory, Instances
from agentgym_server.workers.worker import fault, work

log = logging.getLogger(__name__)

FORK, BECOME = b"f", b"b"
ORPHAN_CHECK_S = 1.0
CLOSE_S = 2.0
OWN_PAGES = ("Private_Dirty", "Private_Hugetlb")
"""Lines of `smaps_rollup` that are a process's own; `Private_Clean` are pages of mapped files."""


class WorkerStartFailed(RuntimeError):
    """An environment could not be built in its worker; the text gives the reason."""


class ForkServer:
    """Handle of a fork server in the server process. One request at a time."""

    def __init__(self, factories: Mapping[str, Factory], memory_bytes: int, workers: int = 1) -> None:
        self._factories = dict(factories)
        self._memory_bytes = memory_bytes
        self._workers = workers
        self._lock = asyncio.Lock()
        self._process: BaseProcess | None = None
        self._sock: socket.socket | None = None
        self._forks = True

    async def bear(self, theirs: socket.socket) -> "Child":
        """Fork a worker process that serves this connection; raises `WorkerStartFailed`."""
        async with self._lock:
            if self._sock is None:
                await asyncio.to_thread(self._open)
            return await asyncio.to_thread(self._ask, theirs)

    async def close(self) -> None:
        """Stop the fork server; the workers exit when their connections close."""
        async with self._lock:
            await asyncio.to_thread(self._shut)

    def _open(self) -> None:
        ours, theirs = socket.socketpair()
        arguments = (theirs, self._factories, self._memory_bytes, self._workers, os.getpid())
        # Not forked from the server, whose event loop and threads a child must not inherit.
        process = multiprocessing.get_context("spawn").Process(
            target=rock, args=arguments, name="agentgym-fork_server", daemon=True
        )
        try:
            process.start()
        finally:
            theirs.close()
        atexit.register(process.kill)  # before multiprocessing would wait for it: it ignores SIGTERM
        self._process, self._sock = process, ours
        try:
            answer = frames.receive(ours)
        except (EOFError, OSError):
            answer = {"message": "the process died while it built its environments", "trace": ""}
        if "ready" not in answer:
            log.error("an environment could not be built\n%s", answer["trace"])
            self._shut()
            raise WorkerStartFailed(answer["message"])
        self._forks = answer["ready"] == "forks"

    def _ask(self, theirs: socket.socket) -> "Child":
        assert self._sock is not None
        assert self._process is not None
        try:
            socket.send_fds(self._sock, [FORK if self._forks else BECOME], [theirs.fileno()])
            pid = int(frames.receive(self._sock)["pid"])
        except (EOFError, OSError) as cause:
            self._shut()
            raise WorkerStartFailed(f"the process that forks workers died: {cause}") from cause
        if self._forks:
            return Child(pid, None)
        child = Child(pid, self._process)
        self._sock.close()
        self._sock = self._process = None  # the next worker needs another process
        return child

    def _shut(self) -> None:
        # Start both at once: a thread whose caller was cancelled may reach this point concurrently.
        sock, process, self._sock, self._process = self._sock, self._process, None, None
        if sock is not None:
            sock.close()
        if process is not None:
            process.kill()
            process.join(CLOSE_S)
            atexit.unregister(process.kill)


class Child:
    """Worker process. A forked one is reaped by the process that forked it."""

    def __init__(self, pid: int, process: BaseProcess | None) -> None:
        self.pid = pid
        self._process = process

    def kill(self) -> None:
        """Kill it at once."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def reap(self) -> None:
        """Wait until it has exited."""
        if self._process is not None:
            self._process.join(CLOSE_S)
            atexit.unregister(self._process.kill)

    def private_bytes(self) -> int:
        """Memory that it shares with no other process; 0 if the system does not report it."""
        try:
            lines = Path(f"/proc/{self.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            return 0
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(OWN_PAGES))


def rock(
    control: socket.socket, factories: Mapping[str, Factory], memory_bytes: int, workers: int, parent: int
) -> None:
    """Main function of the fork server: build the environments, then fork workers until the server exits."""
    for sign in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group; the server decides
        signal.signal(sign, signal.SIG_IGN)
    os.dup2(2, 1)  # an environment that prints must not write into the server's standard output
    room = Instances(factories, workers)
    control.sendall(frames.packed(_built(room)))
    gc.collect()
    gc.freeze()  # so that collections in the workers do not write to, and thereby copy, shared pages
    while (request := _request(control, parent)) is not None:
        kind, sock = request
        if kind == BECOME:
            control.sendall(frames.packed({"pid": os.getpid()}))
            control.close()
            work(sock, room, memory_bytes)
            return
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps the workers
        pid = os.fork()
        if pid == 0:
            _be_worker(control, sock, room, memory_bytes)
        sock.close()
        control.sendall(frames.packed({"pid": pid}))


def _be_worker(control: socket.socket, sock: socket.socket, room: Instances, memory_bytes: int) -> None:
    """Serve, then exit without the exit handlers of the parent."""
    try:
        control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        work(sock, room, memory_bytes)
    finally:
        os._exit(0)


def _request(control: socket.socket, parent: int) -> tuple[bytes, socket.socket] | None:
    """The next request and its connection; None when the server has exited."""
    while not select.select([control], [], [], ORPHAN_CHECK_S)[0]:
        if os.getppid() != parent:
            return None
    kind, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    return (kind, socket.socket(fileno=descriptors[0])) if descriptors else None


def _built(room: Instances) -> dict[str, Any]:
    try:
        room.load()
    except Exception as cause:  # noqa: BLE001 - an environment may raise anything; the server reports it
        return fault("internal", cause)
    return {"ready": "forks" if _threads() == 1 else "threads"}


def _threads() -> int:
    """Number of threads of this process, including those unknown to Python."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return 2  # unknown: assume threads
