"""Eight games of ScienceWorld in one server end as when each is played alone, within the stated memory."""

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest
from support.processes import MARK
from support.readiness import ready_address

from agentgym_client import EnvClient
from agentgym_envs.sciworld import ScienceWorld
from agentgym_envs.sciworld.games import TASKS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("java") is None or find_spec("scienceworld") is None,
        reason="there is no Java, or the extra sciworld is not installed",
    ),
]

STEPS = 500
MOST_MB = 1300
"""Stated bound of one machine, with its heap of 1,024 MB."""
FILLERS = ("look around", "inventory", "task", "examine air", "look at agent")


def games() -> list[tuple[str, list[str]]]:
    """Eight tasks, and for each 500 actions: two thirds of its gold path, among actions without effect."""
    world = ScienceWorld(limit=10_000)
    found: list[tuple[str, list[str]]] = []
    for number, task in enumerate(("1-1", "2-1", "3-3", "4-1", "6-1", "7-1", "8-1", "9-1")):
        draw = Random(number)
        name = f"test/{task}/{TASKS[task][1] - 1}"
        gold = world.expert(world.task(name))
        assert gold
        actions = gold[: 2 * len(gold) // 3]
        while len(actions) < STEPS:
            actions.insert(draw.randrange(len(actions) + 1), draw.choice(FILLERS))
        found.append((name, actions))
    return found


@contextmanager
def server(mark: str) -> Generator[str]:
    """A server of real processes, which have a mark; its address."""
    command = [
        *(sys.executable, "-m", "agentevol", "envs", "serve", "sciworld", "--port", "0"),
        *("--workers", "1", "--option", "sciworld.limit=10000"),
    ]
    environment = {**os.environ, MARK: mark}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield ready_address(process)
        finally:
            process.terminate()
            process.wait()


async def played(client: EnvClient, game: tuple[str, Sequence[str]]) -> tuple[float, int]:
    """Score and number of steps of a game."""
    name, actions = game
    score, steps = 0.0, 0
    async with await client.open("sciworld", name) as session:
        for action in actions:
            result = await session.step(action)
            score, steps = result.info["score"], steps + 1
            if result.terminated:
                break
    return score, steps


async def played_together(address: str, games: Sequence[tuple[str, list[str]]]) -> list[tuple[float, int]]:
    async with EnvClient(address) as client:
        return list(await asyncio.gather(*(played(client, game) for game in games)))


def peaks_mb(mark: str) -> list[int]:
    """Largest resident memory of each Java machine with a mark."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_marked = f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
            if is_marked and b"py4j.GatewayServer" in (folder / "cmdline").read_bytes():
                peak = re.search(r"VmHWM:\s+(\d+) kB", (folder / "status").read_text(encoding="ascii"))
                assert peak
                found.append(int(peak[1]) // 1024)
    return found


def test_eight_games_at_once_end_as_when_each_is_played_alone():
    all_games = games()
    with server("together") as address:
        together = asyncio.run(played_together(address, all_games))
        peaks = peaks_mb("together")
    alone: list[tuple[float, int]] = []
    for game in all_games:
        with server("alone") as address:
            alone += asyncio.run(played_together(address, [game]))
    assert together == alone
    assert all(steps == STEPS for _, steps in together)
    assert len({score for score, _ in together}) > 2
    assert peaks
    assert max(peaks) < MOST_MB, peaks
