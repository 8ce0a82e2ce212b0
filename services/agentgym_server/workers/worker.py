"""Worker process: a room of many episodes, played one operation at a time.

Requests are `{"op": "open" | "fork" | "step" | "drop", "key": ..., ...}`; all but `drop` get one reply, in
order: `{"outcome": [...]}`, or `{"fault": "task" | "internal", "message": ..., "trace": ...}`. The first
message is `{"ready": true}`. A coroutine blocks the whole worker: an environment that waits on an endpoint
declares `blocking = False` and is played on the server's event loop.
"""

import asyncio
import contextlib
import os
import resource
import socket
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from agentgym_envs.core import TaskNotFound
from agentgym_server.workers import frames
from agentgym_server.workers.hosts import Instances, Origin, Outcome

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
        while True:
            reply = _reply(room, runner, frames.receive(sock))
            if reply is not None:
                sock.sendall(reply)


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


def _reply(room: Instances, runner: asyncio.Runner, request: dict[str, Any]) -> bytes | None:
    try:
        if request["op"] == "drop":
            room.drop(request["key"])
            return None
        return frames.packed({"outcome": _play(room, runner, request)})
    except TaskNotFound as cause:
        return frames.packed(fault("task", cause))
    except Exception as cause:  # noqa: BLE001 - the worker continues after any exception of an environment
        return None if request["op"] == "drop" else frames.packed(fault("internal", cause))


def _play(room: Instances, runner: asyncio.Runner, request: dict[str, Any]) -> Outcome | None:
    key = request["key"]
    if request["op"] == "step":
        step = room.step(key, request["action"])
        return step if isinstance(step, Outcome) else runner.run(_result(step))
    origin = Origin(*request["origin"])
    if request["op"] == "open":
        return runner.run(room.open(key, origin))
    return runner.run(room.fork(key, request["parent"], origin, request["actions"]))


async def _result(step: Any) -> Outcome:
    return await step


def fault(kind: str, cause: BaseException) -> dict[str, Any]:
    """The message that reports an exception of an environment."""
    clean = "".join(traceback.format_exception(cause)).encode("utf-8", "replace").decode()
    return {"fault": kind, "message": clean.rstrip().rpartition("\n")[2], "trace": clean}
