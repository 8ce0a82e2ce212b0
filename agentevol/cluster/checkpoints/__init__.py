"""Checkpoints of a run on several machines: object store and access.

Names for other packages: `access.Published`, `access.Shared`, `access.copies`,
`object_store.CheckpointStore`.
"""
