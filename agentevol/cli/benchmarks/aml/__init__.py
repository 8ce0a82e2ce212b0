"""Benchmark of Adaptive Mode Learning (arXiv:2505.02156): AMPO, its baselines, and single thinking modes."""

from agentevol.cli.benchmarks.aml.main import main

__all__ = ["main"]
