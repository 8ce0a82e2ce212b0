"""Benchmark of a WebShop catalogue: cost of writing, opening, searching, sharing, and a step in it.

`reader` is a process that searches a catalogue, `sessions` plays walks through a shop; `main` writes
catalogues of generated products and starts readers on them.

    agentevol bench env --env webshop --products 1000000 --json
"""

from agentevol.cli.benchmarks.env.webshop.main import main

__all__ = ["main"]
