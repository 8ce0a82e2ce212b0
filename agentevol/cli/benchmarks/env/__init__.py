"""Benchmark of an environment by itself, without a server: `agentevol bench env --env NAME`.

`alfworld` is compared with the original engine, `assistant` with plain ways to hold the same data;
`webshop` is measured by catalogue size; `games` are text games, two of them beside the packages they wrap.
"""

from importlib import import_module
from typing import Any, Literal


def main(
    json: bool = False, env: Literal["alfworld", "assistant", "games", "webshop"] = "alfworld", **options: Any
) -> None:
    """Measure and print; `products` is an option of `webshop`."""
    import_module(f"agentevol.cli.benchmarks.env.{env}").main(json=json, **options)
