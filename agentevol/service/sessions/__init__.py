"""Recorded sessions: registry, records, and their conversion and storage as trajectories.

Names for other packages: `records.LOST`, `records.Record`, `registry.Sessions`, `registry.closed`,
`session.Origin`, `session.Session`, `trajectory.Outcome`, `writer.Table`.
"""
