"""Checkpoints of a run on several machines: object store and access."""
