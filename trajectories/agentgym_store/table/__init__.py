"""Parts of the table of episodes: filters, the log, formats, Parquet files, turns, compaction.

`agentgym_store.store.Store` puts them together.
"""
