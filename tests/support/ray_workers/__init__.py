"""Ray workers forked from one process that has imported torch and transformers for all of them.

Each worker of each run would import them otherwise: 7 s of processor time on a slow machine, most of what a
small run costs.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from support.ray_workers.client import identity

SOCKET = "AGENTEVOL_TEST_RAY_WORKERS"
"""Environment variable with the path of the server's socket."""


def record(worker: int) -> Path:
    """Link from a forked worker's id to the folder in /proc of its client, which Ray started."""
    return Path(os.environ[SOCKET]).with_name(str(worker))


@contextmanager
def serving(folder: Path) -> Generator[dict[str, str]]:
    """A fork server in `folder`, as the environment variables by which runs use it."""
    variables = {
        "RAY_RUNTIME_ENV_HOOK": "support.ray_workers.hook.forked",
        SOCKET: str(folder / "socket"),
    }
    folder.joinpath("identity").write_text(json.dumps(identity()), encoding="utf-8")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(variables[SOCKET])
        listener.listen()  # clients wait for the server's imports
        server = subprocess.Popen(
            [sys.executable, "-m", "support.ray_workers.server", str(listener.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            env={**os.environ, **variables},
        )
    with server:
        try:
            yield variables
        finally:
            assert server.stdin is not None
            server.stdin.close()
