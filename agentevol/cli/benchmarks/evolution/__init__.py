"""Experiments on ways of learning, each beside a control: opinions, own episodes, several environments."""

from agentevol.cli.benchmarks.evolution.main import main

__all__ = ["main"]
