"""Parts of the table of episodes: filters, the log, formats, Parquet files, turns, compaction.

`agentgym_store.store.Store` puts them together.

Names for other packages: `compaction.Compaction`, `compaction.Layout`, `compaction.compact`,
`errors.one_error`, `formats.check_format`, `formats.create_table`, `formats.renew_format`,
`frames.arrow_table`, `frames.frame_of`, `log.Log`, `log.PRUNED`, `log.add_action`,
`parquet_files.write_episodes`, `reading.completed`, `reading.read`, `turns.EPISODE_PART`, `turns.TURN_PART`,
`turns.turn_frames`, `vacuum.readable_from`, `vacuum.vacuum`, `where.ALL`, `where.Where`.
"""
