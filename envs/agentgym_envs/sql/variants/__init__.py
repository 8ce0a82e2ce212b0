"""Variants of a database, and the rule by which tasks are served.

Names for other packages: `mutants.mutants`, `resampling.VERSION`, `resampling.variant`, `schema.Table`,
`schema.read_schema`, `service.LEAST_COUNTING`, `service.LEAST_KILLED`, `service.MOST`, `service.Service`,
`service.judge`.
"""
