"""Choice of the measured engine."""

from typing import Literal

from agentevol.core.errors import ConfigError


def main(
    json: bool = False,
    engine: Literal["embedded", "vllm"] = "embedded",
    size: Literal["small", "large"] | None = None,
) -> None:
    """Measure and print. Raises `ConfigError` for `vllm` where it is not installed, and for a size of another
    engine's.
    """
    if engine == "vllm":
        from agentevol.cli.benchmarks.rollout import vllm_comparison

        vllm_comparison.main(json, size or "large")
        return
    if size is not None:
        raise ConfigError("--size is an option of bench rollout --engine vllm")
    from agentevol.cli.benchmarks.rollout import embedded

    embedded.main(json)
