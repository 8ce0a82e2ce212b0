"""docs/curl.md does what it says: its blocks run in bash against a real server, in order."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentgym_envs.registry import REGISTRY, lacking

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "curl.md"
PORT = "8000"
MARK = "== the next block =="

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("curl") and shutil.which("bash")), reason="the page needs curl and bash"
    ),
]


class Block(NamedTuple):
    """Commands, and what they print; None: the page does not say."""

    commands: str
    output: str | None


def blocks() -> Iterator[Block]:
    text = PAGE.read_text(encoding="utf-8")
    for commands, output in re.findall(r"^```sh\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?", text, re.M | re.S):
        yield Block(commands, output or None)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block after the first printed; the first is the server."""
    server, *rest = blocks()
    if needs := list(filter(None, map(lacking, shown(server)))):
        pytest.skip(f"the page shows an environment that cannot be imported: {needs[0]}")
    home = tmp_path_factory.mktemp("home")
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


def test_every_block_prints_what_the_page_says(printed: list[str]):
    _, *rest = blocks()
    assert len(printed) == len(rest) >= 14
    for block, output in zip(rest, printed, strict=True):
        assert block.output is None or matches(block.output, output), output


def matches(pattern: str, text: str) -> bool:
    """Whether text is what the page shows, `...` being anything."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("..."))), text, re.DOTALL) is not None


def shown(server: Block) -> list[str]:
    """The environments that the page serves."""
    return [word for word in shlex.split(server.commands) if word in REGISTRY]


def test_an_episode_of_every_served_environment_is_won(printed: list[str]):
    ends = [reply for reply in replies(printed) if reply.get("terminated")]
    assert [reply["reward"] for reply in ends] == [1.0] * len(ends)
    counted = re.findall(r'finished_total{env="([^"]+)",outcome="terminated"} (\d+)', "".join(printed))
    assert {env for env, _ in counted} == set(shown(next(blocks())))
    assert sum(int(number) for _, number in counted) == len(ends)


def replies(printed: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines."""
    for line in "".join(printed).splitlines():
        if line.startswith("{") and '"session_id"' in line:
            yield json.loads(line)


def test_the_comparison_notices_another_output():
    assert matches('{"turn":1,...}\n', '{"turn":1,"reward":0.0}\n')
    assert not matches('{"turn":1,...}\n', '{"turn":2,"reward":0.0}\n')
    assert not matches("healthy\n", "healthy\nand more\n")
