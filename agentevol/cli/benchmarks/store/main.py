"""Benchmark of the store: a large table and a tenth of it, and plain Parquet beside one append."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentevol.cli.benchmarks.figures import report
from agentevol.cli.benchmarks.progress import say
from agentevol.cli.benchmarks.store.episodes import TURNS
from agentevol.cli.benchmarks.store.plain import measure as beside_plain
from agentevol.cli.benchmarks.store.plain import size_mib
from agentevol.cli.benchmarks.store.work import OPERATIONS, Measured, in_a_process
from agentevol.cli.console.output import print_table

SIZE = 1_000_000
PLAIN_EPISODES = 10_000
APPEND_S = 1.5
"""Budget for 10,000 episodes appended."""
EXPORT_S = 5.0
"""Budget for 100,000 turns exported."""
GROWTH = 1.2
"""Budget of the growth: linear, plus noise."""
HEADER = ("operation", "tenth s", "whole s", "processor s", "growth", "peak MiB", "budget s", "kept")


@dataclass(frozen=True)
class Line:
    """An operation on both tables."""

    name: str
    tenth: Measured
    whole: Measured
    factor: float
    """Episodes of the whole over those of the tenth."""
    budget_s: float | None
    """For the whole; None without a budget but that of the growth."""

    @property
    def growth(self) -> float:
        """Processor time over time, divided by size over size: at most 1 if it grows as the table does."""
        return self.whole.cpu_s / self.tenth.cpu_s / self.factor

    @property
    def is_kept(self) -> bool:
        """True if the time is within its budget, or grows as it may."""
        return self.growth <= GROWTH if self.budget_s is None else self.whole.seconds <= self.budget_s

    def as_json(self) -> dict[str, Any]:
        """All figures."""
        derived = {"growth": self.growth, "budget_s": self.budget_s, "kept": self.is_kept}
        return {"operation": self.name, "tenth": asdict(self.tenth), "whole": asdict(self.whole), **derived}

    def row(self) -> tuple[str, ...]:
        """The cells of `HEADER`."""
        return (
            self.name,
            f"{self.tenth.seconds:.2f}",
            f"{self.whole.seconds:.2f}",
            f"{self.whole.cpu_s:.2f}",
            f"{self.growth:.2f}",
            f"{self.whole.peak_mib:,.0f}",
            "-" if self.budget_s is None else f"{self.budget_s:.1f}",
            "yes" if self.is_kept else "MISSED",
        )


def budgets(episodes: int) -> dict[str, float]:
    """Budgets in seconds for a table of so many episodes."""
    return {"append": APPEND_S * episodes / 10_000, "export": EXPORT_S * episodes * TURNS / 100_000}


def main(json: bool = False, turns: int = SIZE, plain_episodes: int = PLAIN_EPISODES) -> None:
    """Measure and print."""
    report("store", lambda: _compare(turns, plain_episodes), json=json)


def _compare(turns: int, plain_episodes: int) -> Mapping[str, Any]:
    episodes = max(10, -(-turns // TURNS))
    plain_episodes = min(plain_episodes, episodes)
    with TemporaryDirectory() as scratch:
        lines = _lines(Path(scratch), episodes)
        size = size_mib(Path(scratch) / "whole" / "table")
        print(f"{episodes:,} episodes, {episodes * TURNS:,} turns, {size:,.0f} MiB; a tenth beside them")
        print_table(HEADER, [line.row() for line in lines])
    say(f"{plain_episodes:,} episodes beside plain Parquet")
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        comparisons = beside_plain(plain_episodes, folder)
        sizes = {name: size_mib(folder / name) for name in ("table", "plain.parquet")}
    print(f"{plain_episodes:,} episodes, {plain_episodes * TURNS:,} turns in one append")
    print("\n".join(map(str, comparisons)))
    print(f"size: store {sizes['table']:.1f} MiB, plain {sizes['plain.parquet']:.1f} MiB")
    budget_s = budgets(plain_episodes)["append"]
    verdict = "kept" if comparisons[0].store_s <= budget_s else "MISSED"
    print(f"budget {budget_s:g} s for {plain_episodes:,} episodes appended: {verdict}")
    return {
        "episodes": episodes,
        "turns": episodes * TURNS,
        "size_mib": size,
        "operations": [line.as_json() for line in lines],
        "plain": {
            "episodes": plain_episodes,
            "figures": [{**asdict(one), "plain_over_store": one.ratio} for one in comparisons],
            "size_mib": sizes,
            "budget_s": budget_s,
        },
    }


def _lines(folder: Path, episodes: int) -> list[Line]:
    """Every operation, on the tenth and then on the whole."""
    sizes = {"tenth": max(1, episodes // 10), "whole": episodes}
    for name in sizes:
        (folder / name).mkdir()
    lines: list[Line] = []
    for name in OPERATIONS:
        found: dict[str, Measured] = {}
        for size, number in sizes.items():
            say(f"{name} of {number:,} episodes")
            found[size] = in_a_process(name, folder / size, number)
        factor = sizes["whole"] / sizes["tenth"]
        lines.append(Line(name, found["tenth"], found["whole"], factor, budgets(episodes).get(name)))
    return lines
