"""Scripted players: baselines without skill, the oracle, and a customer that reads and forgets."""
