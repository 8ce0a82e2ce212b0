"""A page whose blocks run in bash against a real server, in order."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agentgym_envs.registry import REGISTRY

PORT = "8000"
MARK = "== the next block =="


class Block(NamedTuple):
    """Commands, and what they print; None: the page does not say."""

    commands: str
    output: str | None


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page; the first starts the server."""
    text = page.read_text(encoding="utf-8")
    for commands, output in re.findall(r"^```sh\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", text, re.M | re.S):
        yield Block(commands, output or None)


def shown(server: Block) -> list[str]:
    """The environments that a page serves."""
    return [word for word in shlex.split(server.commands) if word in REGISTRY]


def printed_by(page: Path, home: Path) -> list[str]:
    """What each block after the first prints."""
    server, *rest = blocks(page)
    environment = {**os.environ, "AGENTEVOL_HOME": str(home), "no_proxy": "*"}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program, *arguments = shlex.split(server.commands)
    assert program == "agentevol"
    arguments = [port if word == PORT else word for word in arguments]
    process = subprocess.Popen(
        [sys.executable, "-m", "agentevol", *arguments], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"ready http://127.0.0.1:{port}\n"
        script = f"echo '{MARK}'\n".join(block.commands.replace(f":{PORT}", f":{port}") for block in rest)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split(f"{MARK}\n")


def matches(pattern: str, text: str) -> bool:
    """Whether text is what a page shows, `...` being anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text, re.DOTALL) is not None
