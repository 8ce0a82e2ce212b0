"""Process that opens a catalogue and searches it, and reports times and memory.

    python -m agentevol.cli.benchmarks.env.webshop.reader FOLDER SEARCHES

It prints a line of JSON, and its memory again for every line that it reads.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEYS = {"Rss": "rss", "Pss": "pss", "Private_Clean": "unshared", "Private_Dirty": "unshared"}
OPENERS = ("i am looking for", "i need", "find me a", "i would like")
SHORTEST, LONGEST = 2, 12
"""Range of the number of words of a query."""


def memory_mb() -> dict[str, float] | None:
    """Memory of this process in 10^6 bytes: resident, proportional share (each page divided by its
    processes), and unshared; None where the system does not report it.
    """
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = dict.fromkeys(KEYS.values(), 0.0)
    for line in lines:
        name, _, rest = line.partition(":")
        if name in KEYS:
            found[KEYS[name]] += int(rest.split()[0]) * 1024 / 1e6
    return found


def queries(catalogue: Any, count: int, seed: int = 0) -> Iterator[str]:
    """Alternating pieces of products' texts, and phrases like those of instructions."""
    draw = random.Random(seed)
    asins = list(catalogue.products)
    for number in range(count):
        product = catalogue.products[draw.choice(asins)]
        size = draw.randint(SHORTEST, LONGEST)
        words = product.index_text.split()
        if number % 2:
            values = [value for group in product.options.values() for value in group[:1]]
            words = (
                f"{draw.choice(OPENERS)} {product.query} {' '.join(values)} {product.title}".lower().split()
            )
        begin = 0 if number % 2 else draw.randrange(max(1, len(words) - size))
        yield " ".join(words[begin : begin + size])


def main(folder: Path, searches: int) -> None:
    """Run the measurement. Queries are made, and each is searched once, before times count."""
    from agentgym_envs.webshop.catalogues.stored import StoredCatalogue

    before = memory_mb()
    began = time.perf_counter()
    catalogue = StoredCatalogue.open(folder)
    open_s = time.perf_counter() - began
    asked = list(queries(catalogue, searches))
    for query in asked:
        catalogue.search(query)
    times_s = [_timed_s(catalogue, query) for query in asked]
    told = {"before_mb": before, "open_s": open_s, "times_s": times_s, "memory_mb": memory_mb()}
    print(json.dumps(told), flush=True)
    for _ in sys.stdin:
        print(json.dumps(memory_mb()), flush=True)


def _timed_s(catalogue: Any, query: str) -> float:
    began = time.perf_counter()
    catalogue.search(query)
    return time.perf_counter() - began


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
