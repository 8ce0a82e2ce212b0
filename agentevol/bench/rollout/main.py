"""Which engine is measured."""

from typing import Literal


def main(json: bool = False, engine: Literal["embedded", "vllm"] = "embedded") -> None:
    """Measure and print. Raises `ConfigError` for `vllm` where it is not installed."""
    if engine == "vllm":
        from agentevol.bench.rollout import beside_vllm

        beside_vllm.main(json)
        return
    from agentevol.bench.rollout import embedded

    embedded.main(json)
