"""Ray workers forked from one process that has imported torch and transformers for all of them.

Each worker of each run would import them otherwise: 7 s of processor time on a slow machine, most of what a
small run costs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

HOOK = ("RAY_RUNTIME_ENV_HOOK", "support.ray_workers.hook.forked")
SOCKET = "AGENTEVOL_TEST_RAY_WORKERS"
"""Environment variable with the path of the server's socket."""
NAMESPACES = ("mnt", "net", "pid")


def identity() -> list[str]:
    """Interpreter, folders of modules and namespaces that a worker must have in common with the server."""
    return [sys.executable, *(str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in NAMESPACES)]


def record(worker: int) -> Path:
    """Link from a forked worker's id to the folder in /proc of its client, which Ray started."""
    return Path(os.environ[SOCKET]).with_name(str(worker))


@contextmanager
def serving(folder: Path) -> Generator[dict[str, str]]:
    """A fork server in `folder`, as the environment variables by which runs use it."""
    address = folder / "socket"
    folder.joinpath("identity").write_text(json.dumps(identity()), encoding="utf-8")
    command = [sys.executable, "-m", "support.ray_workers.server", str(address)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as server:
        try:
            yield dict([HOOK, (SOCKET, str(address))])
        finally:
            assert server.stdin is not None
            server.stdin.close()
