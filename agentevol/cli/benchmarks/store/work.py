"""Operations on a generated table, each measured in a process of its own.

    python -m agentevol.cli.benchmarks.store.work export FOLDER 83334

prints a line of JSON: seconds, processor seconds and peak memory of the operation, and its result.
"""

import json as json_module
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentevol.cli.benchmarks.store.episodes import IN_MODES, ITERATIONS, TURNS, commits
from agentgym_store.jsonl import export_jsonl
from agentgym_store.sql import query
from agentgym_store.statistics import MODE_COLUMNS, statistics
from agentgym_store.store import Store, Where
from agentgym_store.table.compaction import compact

OF_EPISODES = (
    "select env, iteration, count(*) as n, avg(total_reward) as reward from episodes group by env, iteration"
)
OF_TURNS = (
    "select action, count(*) as n, avg(logprob) as logprob from turns group by action order by n desc limit 5"
)


@dataclass(frozen=True)
class Measured:
    """Figures of one operation."""

    seconds: float
    cpu_s: float
    """Processor time of all threads, and of the processes that it started."""
    peak_mib: float
    """Peak memory of the process, or of one that it started if that took more."""
    result: int
    """Episodes, rows or files that it concerned."""


class Clock:
    """Sum of times between `start` and `stop`."""

    def __init__(self) -> None:
        self.seconds = self.cpu_s = 0.0

    def start(self) -> None:
        """Begin an interval."""
        self._begun = time.perf_counter(), _cpu_s()

    def stop(self) -> None:
        """End the interval."""
        self.seconds += time.perf_counter() - self._begun[0]
        self.cpu_s += _cpu_s() - self._begun[1]


def _cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def append(folder: Path, episodes: int, clock: Clock) -> int:
    """Append generated episodes, a thousand a commit; their generation is not measured."""
    store = Store.open(folder / "table")
    for number, batch in enumerate(commits(episodes)):
        clock.start()
        store.append(batch, commit={"run": "run", "number": str(number)})
        clock.stop()
    return store.count()


def _table(folder: Path) -> Store:
    return Store.open(folder / "table", create=False)


def stats(folder: Path, _: int, clock: Clock) -> int:
    """All statistics, thinking modes included."""
    clock.start()
    store = _table(folder)
    found = statistics(store.scan(), store.turns(MODE_COLUMNS))
    clock.stop()
    in_modes = found.by["env"].get(IN_MODES)
    if sum(group.turns for group in found.modes.values()) != (in_modes.episodes * TURNS if in_modes else 0):
        raise RuntimeError("turns by mode are not all turns in modes")
    return found.total.episodes


def filtered(folder: Path, _: int, clock: Clock) -> int:
    """Rows of the truncated episodes of an iteration."""
    clock.start()
    where = Where(iteration=ITERATIONS, ending="truncated")
    rows = sum(1 for _ in _table(folder).rows(["id", "total_reward"], where))
    clock.stop()
    return rows


def _sql(folder: Path, statement: str, clock: Clock) -> int:
    clock.start()
    with query(_table(folder), statement) as result:
        rows = sum(1 for _ in result.rows())
    clock.stop()
    return rows


def sql_episodes(folder: Path, _: int, clock: Clock) -> int:
    """Mean return by environment and iteration, in SQL."""
    return _sql(folder, OF_EPISODES, clock)


def sql_turns(folder: Path, _: int, clock: Clock) -> int:
    """The most frequent actions of all turns, in SQL."""
    return _sql(folder, OF_TURNS, clock)


def export(folder: Path, _: int, clock: Clock) -> int:
    """All episodes as JSON Lines."""
    file = folder / "all.jsonl"
    clock.start()
    written = export_jsonl(_table(folder).trajectories(), file)
    clock.stop()
    file.unlink()
    return written


def compaction(folder: Path, _: int, clock: Clock) -> int:
    """Compaction of all files."""
    clock.start()
    done = compact(_table(folder).place)
    clock.stop()
    return done.replaced


Operations = Mapping[str, Callable[[Path, int, Clock], int]]
"""Functions of a folder, a size and a clock, by name."""
MODULE = "agentevol.cli.benchmarks.store.work"
OPERATIONS: Operations = {
    "append": append,
    "stats": stats,
    "filter": filtered,
    "sql of episodes": sql_episodes,
    "sql of turns": sql_turns,
    "export": export,
    "compact": compaction,
}
"""Operations in the order in which they are measured: the first makes the table."""


def in_a_process(name: str, folder: Path, episodes: int, module: str = MODULE) -> Measured:
    """Measure an operation of a module in a process of its own; raises its last message where it fails."""
    command = [sys.executable, "-m", module, name, str(folder), str(episodes)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{name} of {episodes:,} failed:\n{done.stderr[-4000:]}")
    return Measured(**json_module.loads(done.stdout.splitlines()[-1]))


def measure(name: str, folder: Path, episodes: int, operations: Operations = OPERATIONS) -> Measured:
    """Measure an operation in this process."""
    clock = Clock()
    result = operations[name](folder, episodes, clock)
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Measured(clock.seconds, clock.cpu_s, max(peaks) / 2**10, result)


def main(arguments: list[str], operations: Operations = OPERATIONS) -> None:
    """Measure the operation that the arguments name, and print its figures."""
    name, folder, episodes = arguments
    found: dict[str, Any] = vars(measure(name, Path(folder), int(episodes), operations))
    print(json_module.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
