"""Look-up of processes that a test has started, among all of the machine."""

from collections.abc import Sequence
from pathlib import Path

from support.ray_workers import record

MARK = "AGENTEVOL_TEST_RUN"
"""Environment variable by which a test knows its run's processes."""


def processes(title: str, parents: Sequence[int] = (), mark: str = "") -> list[int]:
    """Those whose title holds `title`, of these parents, or with this mark in their environment."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            shown = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            client = record(int(folder.name))
            origin = client if client.is_symlink() else folder
            parent = int((origin / "stat").read_text().rpartition(")")[2].split()[1])
            environment = (origin / "environ").read_bytes()
        except OSError:
            continue
        is_ours = parent in parents if parents else f"{MARK}={mark}".encode() in environment
        if title in shown and is_ours:
            found.append(int(folder.name))
    return found
