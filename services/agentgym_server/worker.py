"""A worker process: a room of many episodes, played one operation at a time.

Requests are `{"op": "open" | "fork" | "step" | "drop", "key": ..., ...}`; all but `drop` get one reply, in
order: `{"outcome": [...]}`, or `{"fault": "task" | "internal", "message": ..., "trace": ...}`. The first
message says `{"ready": true}` once every world is built. A coroutine keeps the whole worker waiting: a world
that waits on an endpoint declares `blocking = False` and is played on the server's event loop.
"""

import asyncio
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any

from agentgym_envs.core import TaskNotFound
from agentgym_server import frames
from agentgym_server.rooms import Factory, Origin, Outcome, Room

ORPHAN_CHECK_S = 1.0


def work(sock: socket.socket, factories: Mapping[str, Factory], parent: int) -> None:
    """The body of a worker process: serve `sock` until the server closes it."""
    for sign in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group; the server decides
        signal.signal(sign, signal.SIG_IGN)
    os.dup2(2, 1)  # a world that prints must not write into the server's standard output
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    with asyncio.Runner() as runner:
        try:
            _serve(sock, Room(factories), runner)
        except (EOFError, ConnectionError):
            return  # the server closed the room


def _die_with(parent: int) -> None:
    """End this process, even within a step that never returns, when the server was killed."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK_S)
    os._exit(1)


def _serve(sock: socket.socket, room: Room, runner: asyncio.Runner) -> None:
    ready = _ready(room)
    sock.sendall(frames.packed(ready))
    while "ready" in ready:
        request = frames.receive(sock)
        reply = _reply(room, runner, request)
        if reply is not None:
            sock.sendall(reply)


def _ready(room: Room) -> dict[str, Any]:
    try:
        room.load()
    except Exception as cause:  # noqa: BLE001 - a world may raise anything; the server reports it
        return _fault("internal", cause)
    return {"ready": True}


def _reply(room: Room, runner: asyncio.Runner, request: dict[str, Any]) -> bytes | None:
    try:
        if request["op"] == "drop":
            room.drop(request["key"])
            return None
        return frames.packed({"outcome": _play(room, runner, request)})
    except TaskNotFound as cause:
        return frames.packed(_fault("task", cause))
    except Exception as cause:  # noqa: BLE001 - whatever a world raises, the worker goes on
        return None if request["op"] == "drop" else frames.packed(_fault("internal", cause))


def _play(room: Room, runner: asyncio.Runner, request: dict[str, Any]) -> Outcome | None:
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


def _fault(kind: str, cause: BaseException) -> dict[str, Any]:
    clean = "".join(traceback.format_exception(cause)).encode("utf-8", "replace").decode()
    return {"fault": kind, "message": clean.rstrip().rpartition("\n")[2], "trace": clean}
