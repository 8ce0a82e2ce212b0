"""Benchmark of RLHF on questions: PPO on a learnt reward, its baselines, and over-optimisation."""

from agentevol.cli.benchmarks.rlhf.main import main

__all__ = ["main"]
