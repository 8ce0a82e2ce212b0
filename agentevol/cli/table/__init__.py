"""Commands of `agentevol trajectories` about the table as a whole: statistics, SQL, compaction.

Names for other packages: `compact.compact`, `options.Iteration`, `options.OnlyPurpose`, `options.Table`,
`options.open_table`, `options.where_of`, `sql.sql`, `stats.stats`.
"""
