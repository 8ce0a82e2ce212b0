"""Interpreter of a Ray worker: it has the worker forked and waits for its end.

python -I -S client.py SOCKET SCRIPT [ARGUMENT ...]

A worker of another virtual environment, or in other namespaces than the server, starts as usual. It imports
nothing but the standard library, since it starts with each worker.
"""

import json
import os
import socket
import sys
from pathlib import Path

NAMESPACES = ("mnt", "net", "pid")


def identity() -> list[str]:
    """Interpreter and namespaces that a worker must have in common with the server."""
    return [sys.executable, *(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in NAMESPACES)]


def main(address: str, *argv: str) -> int:
    """Exit status of the worker."""
    if identity() != json.loads(Path(address).with_name("identity").read_text(encoding="utf-8")):
        os.execv(sys.executable, [sys.executable, *argv])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.connect(address)
        facts = {"argv": argv, "environment": dict(os.environ), "folder": str(Path.cwd())}
        request = {**facts, "client": os.getpid()}
        socket.send_fds(server, [json.dumps(request).encode()], [0, 1, 2])
        return int(server.recv(16) or b"1")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
