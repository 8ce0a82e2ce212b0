"""What an environment costs by itself, without a server: `agentevol bench env --env NAME`.

`alfworld` is measured beside the engine of the original, `webshop` by the size of its catalogue.
"""

from importlib import import_module
from typing import Any, Literal


def main(json: bool = False, env: Literal["alfworld", "webshop"] = "alfworld", **options: Any) -> None:
    """Measure and print; `products` is an option of `webshop`."""
    import_module(f"agentevol.bench.env.{env}").main(json=json, **options)
