"""Parts of the table of episodes: filters, the log, formats, Parquet files, turns, compaction.

`agentgym_store.store.Store` puts them together.

Names for other packages: `commits.committed`, `compaction.compact`, `compaction.Compaction`,
`compaction.Layout`, `errors.one_error`, `formats.check_format`, `formats.create_table`,
`formats.renew_format`, `frames.arrow_table`, `frames.frame_of`, `log.add_action`, `log.Log`, `log.PRUNED`,
`parquet_files.write_episodes`, `reading.completed`, `reading.read`, `turns.EPISODE_PART`,
`turns.turn_frames`, `turns.TURN_PART`, `vacuum.readable_from`, `vacuum.vacuum`, `where.ALL`, `where.Where`.
"""
