"""One measurement: a server process on one core, a load process on another, and the server's CPU time."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
READY_S = 60.0
OPENENV_SIDE = Path(__file__).with_name("openenv_side.py")


@dataclass(frozen=True)
class Measurement:
    """Measurement of one load on one server."""

    server: str
    load: str
    env: str
    sessions: int
    steps: int
    wall_s: float
    p50_s: float
    p99_s: float
    cpu_s: float
    """CPU seconds of the server, workers included."""

    @property
    def rate(self) -> float:
        """Steps per second."""
        return self.steps / self.wall_s

    @property
    def cost_us(self) -> float:
        """CPU time of the server for one step, microseconds."""
        return 1e6 * self.cpu_s / self.steps


class Server:
    """A process that has reported its address."""

    def __init__(self, name: str, process: "subprocess.Popen[str]", url: str) -> None:
        self.name, self.url = name, url
        self._process = process

    def cpu_s(self) -> float:
        """CPU seconds so far, living children included."""
        return tree_cpu_s(self._process.pid)

    def resident_mib(self) -> float:
        """Resident memory of the server process itself."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * PAGE / 2**20

    def tree_mib(self) -> float:
        """Memory of the server and its workers, with shared memory counted once."""
        return sum(map(_pss_mib, self._pids()))

    def threads(self) -> int:
        """Threads of the server process itself."""
        return sum(1 for _ in Path(f"/proc/{self._process.pid}/task").iterdir())

    def _pids(self) -> list[int]:
        return _tree(self._process.pid)


@contextmanager
def served(name: str, command: Sequence[str], cores: set[int]) -> Generator[Server]:
    """A running server within the block; raises `RuntimeError` where it does not start."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a line of log for every session
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"the server {name} did not start")
        yield Server(name, process, line.removeprefix("ready ").strip())
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def loaded(
    server: Server, command: Sequence[str], load: str, env: str, sessions: int, core: int
) -> Measurement:
    """Run a load against a server."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    assert process.stdout is not None
    if process.stdout.readline().strip() != "begin":
        raise RuntimeError(f"the load {load} did not begin")
    before = server.cpu_s()
    line = process.stdout.readline()
    cpu_s = server.cpu_s() - before
    if process.wait() or not line:
        raise RuntimeError(f"the load {load} failed")
    found: dict[str, Any] = json.loads(line)
    return Measurement(server.name, load, env, sessions, cpu_s=cpu_s, **found)


def our_load(kind: str, url: str, env: str, sessions: int, seconds: float) -> list[str]:
    """Command of one of `loads`."""
    module = "agentevol.cli.benchmarks.serve.loads"
    return [sys.executable, "-m", module, kind, url, env, str(sessions), str(seconds)]


def our_server(name: str) -> list[str]:
    """Command of one of `servers`."""
    return [sys.executable, "-m", "agentevol.cli.benchmarks.serve.servers", name]


def openenv(python: str, *words: str) -> list[str]:
    """Command of OpenEnv's side."""
    return [python, str(OPENENV_SIDE), *words]


def tree_cpu_s(pid: int) -> float:
    """CPU seconds so far of a process and its living children."""
    return sum(map(_cpu_s, _tree(pid)))


def _tree(pid: int) -> list[int]:
    """A process and its descendants."""
    found, new = [pid], [pid]
    while new:
        new = [child for one in new for child in _children(one)]
        found += new
    return found


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICKS


def _pss_mib(pid: int) -> float:
    """Memory of a process, each page divided by the processes that share it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _children(pid: int) -> list[int]:
    """Children of a process, from any of its threads."""
    try:
        lists = [file.read_text(encoding="ascii") for file in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(child) for child in " ".join(lists).split()]
