"""Scripted customers: baselines without sense, the oracle, and one who reads and forgets."""
