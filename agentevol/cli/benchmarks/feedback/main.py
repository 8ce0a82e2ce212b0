"""Benchmark of feedback: times and peak memory of each operation."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentevol.cli.benchmarks.feedback.work import EPISODES, OPERATIONS
from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.progress import say
from agentevol.cli.benchmarks.store.episodes import TURNS
from agentevol.cli.benchmarks.store.work import Measured, in_a_process
from agentevol.cli.console.output import print_table

OPINIONS, SIZE = 100_000, 1_000_000
MODULE = "agentevol.cli.benchmarks.feedback.work"
HEADER = ("operation", "s", "processor s", "peak MiB", "result")


def main(json: bool = False, opinions: int = OPINIONS, turns: int = SIZE) -> None:
    """Measure and print."""
    report("feedback", lambda: _measured(opinions, turns), json=json)


def _measured(opinions: int, turns: int) -> Mapping[str, Any]:
    episodes = max(10, -(-turns // TURNS))
    found: dict[str, Measured] = {}
    with TemporaryDirectory() as scratch:
        for name in OPERATIONS:
            say(name)
            count = episodes if name == EPISODES else opinions
            found[name] = in_a_process(name, Path(scratch), count, MODULE)
    print(
        f"{opinions:,} opinions of five sources, beside {episodes:,} episodes with {episodes * TURNS:,} turns"
    )
    shown = {name: one for name, one in found.items() if name != EPISODES}
    print_table(HEADER, [_row(name, one) for name, one in shown.items()])
    return {
        "opinions": opinions,
        "episodes": episodes,
        "turns": episodes * TURNS,
        "operations": [{"operation": name, **asdict(one)} for name, one in shown.items()],
    }


def _row(name: str, one: Measured) -> tuple[str, ...]:
    return name, f"{one.seconds:.2f}", f"{one.cpu_s:.2f}", f"{one.peak_mib:,.0f}", f"{one.result:,}"
