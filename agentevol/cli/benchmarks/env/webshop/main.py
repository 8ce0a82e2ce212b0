"""Writing of catalogues of generated products, and their measurement."""

import json as json_module
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentevol.cli.benchmarks.env.webshop.sessions import SESSIONS, session_bytes, step_ms
from agentevol.cli.benchmarks.figures import short

SIZES = (1_000, 100_000)
"""Default numbers of products."""
READERS = 4
SEARCHES = 500
WALKS = 300
PROCESSES = min(4, os.cpu_count() or 1)
"""Number of processes that analyse texts."""
OPEN_BUDGET_S, MEMORY_BUDGET_MB, FURTHER_BUDGET_MB = 5.0, 1000.0, 30.0


@dataclass(frozen=True)
class Costs:
    """Costs of a catalogue of one size. MB are 10^6 bytes; memory is None where the system does not report
    it.
    """

    products: int
    generated_s: float
    """Part of `written_s`."""
    written_s: float
    processes: int
    """Number of processes that analysed texts meanwhile."""
    stored_mb: float
    open_s: float
    """Measured in a fresh process, with the files in the system's cache."""
    searches_per_s: float
    """Searches of one process, without a cache of results."""
    p50_ms: float
    p99_ms: float
    before_mb: float | None
    """Resident memory of a process before it opens the catalogue: Python, NumPy and our modules."""
    resident_mb: float | None
    """Resident memory after its searches, with all that it has mapped and read."""
    further_mb: float | None
    """Memory that a process, one of `READERS`, shares with no other, beyond its memory before it opened the
    catalogue; the largest.
    """
    all_mb: float | None
    """Memory of all `READERS` processes together, with shared memory counted once."""
    step_ms: float
    session_bytes: float


def measure(count: int, folder: Path, processes: int = PROCESSES, searches: int = SEARCHES) -> Costs:
    """Measure all costs for `count` products; the catalogue is left in `folder`."""
    from agentgym_envs.webshop.catalogues.stored import StoredCatalogue

    generated_s, written_s = _write(count, folder, processes)
    told, memories = _read(folder, searches)
    times_s = sorted(told["times_s"])
    before, alone = told["before_mb"], told["memory_mb"]
    catalogue = StoredCatalogue.open(folder)
    titles = [catalogue.products[asin].title for asin in islice(catalogue.products, WALKS)]
    return Costs(
        products=count,
        generated_s=generated_s,
        written_s=written_s,
        processes=processes,
        stored_mb=sum(file.stat().st_size for file in folder.iterdir()) / 1e6,
        open_s=told["open_s"],
        searches_per_s=len(times_s) / sum(times_s),
        p50_ms=times_s[len(times_s) // 2] * 1e3,
        p99_ms=times_s[len(times_s) * 99 // 100] * 1e3,
        before_mb=before and before["rss"],
        resident_mb=alone and alone["rss"],
        further_mb=before and max(memory["unshared"] for memory in memories) - before["unshared"],
        all_mb=alone and sum(memory["pss"] for memory in memories),
        step_ms=step_ms(catalogue, titles),
        session_bytes=session_bytes(catalogue, titles),
    )


def _write(count: int, folder: Path, processes: int) -> tuple[float, float]:
    """Seconds for making the products, and in total."""
    from agentgym_envs.webshop import generator, nouns
    from agentgym_envs.webshop.catalogues.stored import About, write
    from agentgym_envs.webshop.products import product

    generated_s = 0.0

    def made() -> Iterator[Any]:
        nonlocal generated_s
        rows = generator.rows(count, 0)
        while True:
            began = time.perf_counter()
            row, annotation = next(rows, (None, None))
            one = row and annotation and product(row, tuple(annotation["attributes"]))
            generated_s += time.perf_counter() - began
            if not one:
                return
            yield one

    about = About(name="synth", nouns=nouns.NAME, settings={"prices": "lowest"})
    began = time.perf_counter()
    write(folder, about, made(), lambda one: one.prices[0], {}, processes=processes)
    return generated_s, time.perf_counter() - began


def _read(folder: Path, searches: int) -> tuple[dict[str, Any], list[Any]]:
    """Report of a process that ran alone, and the memory of all processes after others had started."""
    command = [
        sys.executable,
        "-m",
        "agentevol.cli.benchmarks.env.webshop.reader",
        str(folder),
        str(searches),
    ]
    with ExitStack() as stack:
        readers: list[subprocess.Popen[str]] = []
        told: list[dict[str, Any]] = []
        for _ in range(READERS):
            reader = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            readers.append(stack.enter_context(reader))
            stack.callback(reader.kill)
            told.append(_line(readers[-1]))
        memories: list[Any] = []
        for reader in readers:
            assert reader.stdin is not None
            reader.stdin.write("\n")
            reader.stdin.flush()
            memories.append(_line(reader))
        return told[0], memories


def _line(reader: subprocess.Popen[str]) -> Any:
    assert reader.stdout is not None
    line = reader.stdout.readline()
    if not line:
        raise RuntimeError("a process that reads the catalogue ended early")
    return json_module.loads(line)


def main(json: bool = False, products: int | None = None) -> None:
    """Measure and print."""
    found: list[Costs] = []
    for count in (products,) if products else SIZES:
        with TemporaryDirectory() as scratch:
            found.append(measure(count, Path(scratch) / "catalogue"))
        if not json:
            print(described(found[-1]), flush=True)
    if json:
        told = {"benchmark": "env webshop", "figures": [asdict(one) for one in found]}
        print(json_module.dumps(told, indent=2))


def described(costs: Costs) -> str:
    """The costs as lines of text."""
    rest_s = costs.written_s - costs.generated_s
    lines = [
        f"{costs.products:,} generated products, {short(costs.stored_mb)} MB on disk",
        f"write: {short(costs.written_s)} s, {short(costs.generated_s)} s of it to generate them; the other "
        f"{short(rest_s)} s with texts analyzed in {costs.processes} processes",
        f"open: {short(costs.open_s * 1e3)} ms; budget {short(OPEN_BUDGET_S)} s: "
        + _verdict(costs.open_s, OPEN_BUDGET_S),
        f"search: {short(costs.searches_per_s)} a second, p50 {short(costs.p50_ms)} ms, "
        f"p99 {short(costs.p99_ms)} ms",
    ]
    if costs.resident_mb is not None and costs.further_mb is not None:
        lines += [
            f"one process: {short(costs.resident_mb)} MB resident, {short(costs.before_mb or 0)} MB of it "
            f"before it opened; budget {short(MEMORY_BUDGET_MB)} MB: "
            + _verdict(costs.resident_mb, MEMORY_BUDGET_MB),
            f"each further: {short(costs.further_mb)} MB of its own for the catalogue; budget "
            f"{short(FURTHER_BUDGET_MB)} MB: {_verdict(costs.further_mb, FURTHER_BUDGET_MB)}",
            f"{READERS} processes together: {short(costs.all_mb or 0)} MB",
        ]
    lines += [
        f"step, with the page's text and its clickables: {short(costs.step_ms)} ms",
        f"session: {short(costs.session_bytes)} bytes, of {SESSIONS} that share one shop",
    ]
    return "\n  ".join(lines)


def _verdict(figure: float, budget: float) -> str:
    return "kept" if figure <= budget else "MISSED"
