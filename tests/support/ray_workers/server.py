"""Fork server of Ray workers: one thread, until its standard input ends.

python -m support.ray_workers.server FILE_DESCRIPTOR

The descriptor is that of the listening socket, whose path the environment has.

A request is one packet: the worker's arguments, environment variables and folder as JSON, with its standard
streams attached. The answer is the worker's exit status. A worker ends with its client, which Ray knows.
"""

import gc
import json
import os
import runpy
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from support.ray_workers import record

MODULES = ("torch._dynamo", "torch.distributed.fsdp", "transformers.models.qwen2.modeling_qwen2")
"""Imports that take seconds, start no thread and are not under test."""
LARGEST_REQUEST = 1 << 20
FIRST_FREE, LAST = 3, 1024
"""File descriptors that a worker does not inherit."""


class Server:
    """Clients and the workers forked for them."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._clients = dict[int, socket.socket]()
        self._ready = selectors.DefaultSelector()
        self._ended, self._signals = socket.socketpair()
        self._signals.setblocking(False)
        signal.set_wakeup_fd(self._signals.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Fork workers until standard input ends; kill those that are left then."""
        for source in (sys.stdin, self._listener, self._ended):
            self._ready.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self._ready.select():
                if key.fileobj is sys.stdin:
                    return kill(*self._clients)
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._ended:
                    self._reap()
                elif self._clients.get(key.data) is key.fileobj:  # it was killed before its worker ended
                    self._ready.unregister(key.fileobj)
                    kill(key.data)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        packet, streams, _, _ = socket.recv_fds(client, LARGEST_REQUEST, FIRST_FREE)
        if not packet:
            return client.close()
        pid = os.fork()
        if pid == 0:
            request = json.loads(packet)
            record(os.getpid()).symlink_to(f"/proc/{request['client']}")
            become(request, streams)
        for stream in streams:
            os.close(stream)
        self._clients[pid] = client
        self._ready.register(client, selectors.EVENT_READ, pid)

    def _reap(self) -> None:
        self._ended.recv(4096)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                self._answer(*ended)

    def _answer(self, worker: int, status: int) -> None:
        """Tell the client of a worker that has ended its exit status."""
        record(worker).unlink(missing_ok=True)
        client, code = self._clients.pop(worker), os.waitstatus_to_exitcode(status)
        with suppress(KeyError):  # the client was killed
            self._ready.unregister(client)
        with client, suppress(OSError):
            client.send(str(code if code >= 0 else 128 - code).encode())


def kill(*workers: int) -> None:
    for pid in workers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def become(request: dict[str, Any], streams: list[int]) -> None:
    """Run the worker's script in this process, which is a fork; it does not return."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(FIRST_FREE, LAST)
    inherited = module_folders()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    script, *arguments = request["argv"]
    rest = [folder for folder in sys.path[1:] if folder not in inherited]
    sys.path[:] = [str(Path(script).parent), *module_folders(), *rest]
    sys.argv = [script, *arguments]
    code: object = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code
    sys.stdout.flush()
    os._exit(code if isinstance(code, int) else code is not None)


def module_folders() -> list[str]:
    return list(filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)))


def main(listener: str) -> None:
    for module in MODULES:
        import_module(module)
    threads = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    assert threads == 1, f"a process with {threads} threads cannot be forked"
    gc.freeze()
    Server(socket.socket(fileno=int(listener))).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
