"""Experiments on learning from opinions and from own episodes, each beside a control."""

from agentevol.cli.benchmarks.evolution.main import main

__all__ = ["main"]
