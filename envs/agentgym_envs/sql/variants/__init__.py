"""Variants of a database, and the rule by which tasks are served.

Names for other packages: `resampling.variant`, `schema.read_schema`, `service.Service`, `service.judge`,
`service.Target`, `service.constants`.
"""
