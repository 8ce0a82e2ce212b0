"""Worker process: a room of many episodes, played one operation at a time.

Requests are `{"op": "open" | "fork" | "step" | "open_seats" | "step_seats" | "drop" | "ping", "key": ...}`
and more; all but `drop` get one reply, in order: `{"outcome": [...]}` (of seats an object), or `{"fault":
"task" | "unplayable" | "step-timeout" | "partner" | "judge" | "verifier" | "internal", "message": ...,
"trace": ...}`. The first message is `{"ready": true}`.

A coroutine that waits gets `{"later": true}` in its place, and the worker goes on. Its own reply follows when
it is done, with its `key`. It is cancelled at its deadline, and with its episode.
"""

import asyncio
import contextlib
import os
import resource
import socket
import threading
import time
import traceback
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any, cast

from agentgym_envs.core import DependencyFault, TaskNotFound, TaskUnplayable
from agentgym_server.workers import frames
from agentgym_server.workers.hosts import Instances, Origin, Outcome
from agentgym_server.workers.waiting import PastDeadline

ORPHAN_CHECK_S = 1.0


def work(sock: socket.socket, room: Instances, memory_bytes: int) -> None:
    """Main function of a worker process: serve `sock` until the server closes it.

    `memory_bytes` may be allocated beyond the current memory of the room: then allocations fail, and the step
    that needed them with them.
    """
    _limit_memory(memory_bytes)
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    with asyncio.Runner() as runner, contextlib.suppress(EOFError, ConnectionError):  # the server closed it
        sock.sendall(frames.packed({"ready": True}))
        _Room(sock, room, runner).serve()


def _limit_memory(memory_bytes: int) -> None:
    """Bound private memory; if the system does not report its size, the pool's check is the bound."""
    try:
        words = Path("/proc/self/statm").read_text(encoding="ascii").split()
        data_bytes = int(words[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (data_bytes + memory_bytes, hard))
    except (OSError, ValueError):
        return


def _die_with(parent: int) -> None:
    """End this process, even within a step that never returns, when its parent exits."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK_S)
    os._exit(1)


class _Room:
    """Instances behind a socket. The event loop runs only while coroutines wait: plain steps need none."""

    def __init__(self, sock: socket.socket, instances: Instances, runner: asyncio.Runner) -> None:
        self._sock, self._instances, self._runner = sock, instances, runner
        self._waiting: dict[str, asyncio.Task[Any]] = {}
        self._unfinished = set[asyncio.Task[Any]]()
        """Those that wait, and cancelled ones that have not ended yet."""

    def serve(self) -> None:
        """Answer requests; raises `EOFError` when the server has closed the socket."""
        while True:
            if self._unfinished:
                self._runner.run(self._readable())
            self._answer(frames.receive(self._sock))

    async def _readable(self) -> None:
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._sock, arrived.set)
        try:
            await arrived.wait()
        finally:
            loop.remove_reader(self._sock)

    def _answer(self, request: dict[str, Any]) -> None:
        if request["op"] == "drop":
            with contextlib.suppress(Exception):  # nobody waits for an answer
                self._drop(request["key"])
            return
        try:
            played = self._play(request)
        except Exception as cause:  # noqa: BLE001 - the worker continues after any exception of an environment
            self._sock.sendall(frames.packed(_fault_of(cause)))
            return
        if not isinstance(played, asyncio.Task):
            self._sock.sendall(_packed({"outcome": played}))
            return
        self._put_off(request["key"], cast("asyncio.Task[Any]", played))

    def _put_off(self, key: str, played: asyncio.Task[Any]) -> None:
        self._sock.sendall(frames.packed({"later": True}))
        self._waiting[key] = played
        self._unfinished.add(played)
        played.add_done_callback(lambda task: self._finish(key, task))

    def _play(self, request: dict[str, Any]) -> Any:
        """The outcome, or outcomes by seat; a task for a coroutine that waits."""
        if request["op"] == "ping":
            return None
        key, deadline_s = request["key"], request["deadline_s"]
        if request["op"] == "step":
            step = self._instances.step(key, request["action"], deadline_s)
            return step if isinstance(step, Outcome) else self._begun(_result(step))
        if request["op"] == "step_seats":
            steps = self._instances.step_seats(key, request["actions"], deadline_s)
            return steps if isinstance(steps, dict) else self._begun(_result(steps))
        origin = Origin(*request["origin"])
        if request["op"] == "open":
            return self._begun(self._instances.open(key, origin, deadline_s))
        if request["op"] == "open_seats":
            return self._begun(self._instances.open_seats(key, origin, deadline_s))
        parent, actions = request["parent"], request["actions"]
        return self._begun(self._instances.fork(key, parent, origin, actions, deadline_s))

    def _begun(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine that ends without waiting; otherwise its task."""
        task = self._runner.get_loop().create_task(work)
        self._runner.run(asyncio.sleep(0))  # up to its first wait
        return task.result() if task.done() else task

    def _finish(self, key: str, task: asyncio.Task[Any]) -> None:
        self._unfinished.discard(task)
        if self._waiting.get(key) is not task:
            return  # dropped meanwhile
        del self._waiting[key]
        if task.cancelled():
            cancelled = asyncio.CancelledError("the environment cancelled itself")
            reply = frames.packed(_fault_of(cancelled) | {"key": key})
        elif (cause := task.exception()) is not None:
            reply = frames.packed(_fault_of(cause) | {"key": key})
        else:
            reply = _packed({"outcome": task.result(), "key": key})
        with contextlib.suppress(OSError):  # the server has closed it, as the next receive will tell
            self._sock.sendall(reply)

    def _drop(self, key: str) -> None:
        task = self._waiting.pop(key, None)
        if task is not None:
            task.cancel()
            self._runner.run(asyncio.sleep(0))  # its own clean-up, before the instance is closed
        self._instances.drop(key)


async def _result(step: Awaitable[Any]) -> Any:
    return await step


def _packed(reply: dict[str, Any]) -> bytes:
    """A reply; the fault of an environment whose outcome has no JSON form."""
    try:
        return frames.packed(reply)
    except (TypeError, ValueError) as cause:
        key = {"key": reply["key"]} if "key" in reply else {}
        return frames.packed(_fault_of(cause) | key)


def _fault_of(cause: BaseException) -> dict[str, Any]:
    if isinstance(cause, PastDeadline):
        return {"fault": "step-timeout", "message": str(cause), "trace": ""}
    if isinstance(cause, DependencyFault):
        return fault(cause.kind, cause)
    if isinstance(cause, TaskUnplayable):
        return fault("unplayable", cause) | {"message": str(cause)}
    return fault("task" if isinstance(cause, TaskNotFound) else "internal", cause)


def fault(kind: str, cause: BaseException) -> dict[str, Any]:
    """The message that reports an exception of an environment."""
    clean = "".join(traceback.format_exception(cause)).encode("utf-8", "replace").decode()
    return {"fault": kind, "message": clean.rstrip().rpartition("\n")[2], "trace": clean}
