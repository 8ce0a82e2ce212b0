"""Speed and memory of the store: a large table and a tenth of it, and plain Parquet beside it.

    agentevol bench store                    1,000,000 turns
    agentevol bench store --turns 100000     a minute

`episodes` generates them; `work` are the operations, each in a process of its own, whose peak memory is that
of the operation; `plain` compares one append with plain Parquet of the same data; `main` runs and prints.

The column `growth` is the processor time for each turn of the whole table beside that of its tenth: above 1,
an operation grows faster than the table. Beside other work on a machine, it is more reliable than wall time.
"""

from agentevol.cli.benchmarks.store.episodes import episode
from agentevol.cli.benchmarks.store.main import main

__all__ = ["episode", "main"]
