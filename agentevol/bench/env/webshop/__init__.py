"""What a WebShop catalogue costs: to write, to open, to search, to share, and a step in it.

`reader` is a process that searches a catalogue, `sessions` walks through a shop; `main` writes catalogues of
generated products and starts readers on them.

    agentevol bench env --env webshop --products 1000000 --json
"""

from agentevol.bench.env.webshop.main import main

__all__ = ["main"]
