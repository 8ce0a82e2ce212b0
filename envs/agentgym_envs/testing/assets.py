"""Check of large read-only files: they are there, are not written, and are not copied into each episode."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from agentgym_envs.testing.subject import Subject

EPISODES = 10
NOISE_BYTES = 16 << 20
"""Growth of a process for other reasons than its assets."""


def check_assets(subject: Subject) -> Iterator[str]:
    """Declared files exist and stay as they are; ten open episodes do not hold copies of them."""
    environment = subject.factory()
    assets = environment.assets
    subject.cases += len(assets)
    missing = [path for path in assets if not path.is_file()]
    yield from (f"the asset {path} is not a file" for path in missing)
    if not assets or missing:
        environment.close()
        return
    task = subject.drawn[0]
    subject.player.reset(environment, task, subject.seed)
    stats, before = [_version(path) for path in assets], own_memory_bytes()
    with ExitStack() as instances:
        instances.callback(environment.close)
        for _ in range(EPISODES):
            one = subject.factory()
            instances.callback(one.close)
            subject.player.reset(one, task, subject.seed)
        grown = own_memory_bytes() - before
    size = sum(path.stat().st_size for path in assets)
    if grown > max(size, NOISE_BYTES):
        taken = f"{EPISODES} episodes take {grown >> 20} MiB"
        yield f"{taken}; the assets have {size >> 20} MiB: map, do not copy"
    if [_version(path) for path in assets] != stats:
        yield "an asset was written"


def own_memory_bytes() -> int:
    """Memory of this process that it shares with no other and no file; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty"))


def _version(path: Path) -> tuple[int, ...]:
    stat: os.stat_result = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
