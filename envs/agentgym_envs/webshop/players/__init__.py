"""Scripted players: baselines without skill, the oracle, and a customer that reads and forgets.

Names for other packages: `baselines.oracle`, `thinker.think_aloud`.
"""
