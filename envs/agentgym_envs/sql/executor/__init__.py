"""Execution of SQL that a model wrote: an allow-list, limits, and typed results.

Names for other packages: `database.Database`, `database.Source`, `limits.Extent`,
`limits.MAX_SQL_LENGTH`, `pool.borrowed`, `rendering.rendered`, `rendering.shown`, `results.Result`,
`results.Row`, `results.Status`, `results.Value`, `rules.READING`, `rules.WRITING`, `rules.first_word`.
"""
