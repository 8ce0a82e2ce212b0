"""Commands of `agentevol trajectories` about the table as a whole: statistics, SQL, compaction.

Names for other modules: `options`, `compact.compact`, `sql.sql`, `stats.stats`.
"""
