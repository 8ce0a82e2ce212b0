"""Benchmark of feedback: 100,000 opinions beside a table of 1,000,000 turns.

    agentevol bench feedback

measures the append, the reading, each rule of aggregation, and joins with episodes and turns, each in a
process of its own. `work` has the operations, `records` the generated opinions.
"""

from agentevol.cli.benchmarks.feedback.main import main

__all__ = ["main"]
