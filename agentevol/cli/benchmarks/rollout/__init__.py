"""Rollout speed: an engine under this project's scheduler against the same engine's own sampling.

    agentevol bench rollout                   the embedded engine, beside transformers `generate`
    agentevol bench rollout --engine vllm     vLLM, beside vLLM's own offline throughput on the same tokens

`embedded` and `beside_vllm` are these two; `world`, `work` and `offline` belong to the second, which ends
with `tails`: the cost of slow episodes for a round that waits for them, by simulation.
"""

from agentevol.cli.benchmarks.rollout.main import main

__all__ = ["main"]
