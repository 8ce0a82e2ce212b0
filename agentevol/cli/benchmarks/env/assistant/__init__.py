"""Steps and resets of the assistant, against plain ways to hold the same data.

    dictionary   the tools as functions on dictionaries, one data set for all episodes, never reset
    deep copy    the same tools on a copy of the data for each episode, the way of tau-bench
    rebuilt      the same tools on a SQLite database in memory, built for each episode

All sides read calls as JSON text and answer in JSON; the others check no arguments, limit nothing, note no
change and judge nothing. The work: to-do and order tasks, eight samples each, with the mistakes of a careless
player, as a group of an exploring policy has them.
"""

from agentevol.cli.benchmarks.env.assistant.main import main

__all__ = ["main"]
"""Names for `agentevol bench env`."""
