"""State of a run: its folder, episodes, caches, draft summaries and progress display.

Names for other packages: `cache.CacheKeys`, `cache.SequenceCache`, `checkpoints.RunCheckpoints`,
`context.RunContext`, `episodes.Episodes`, `held_out_tasks.held_out_tasks`, `held_out_tasks.HeldOut`,
`held_out_tasks.splits_of`, `held_out_tasks.summary_of`, `manifest_writer.ManifestWriter`,
`manifest_writer.note_manifest`, `progress.evaluation_table`, `progress.Progress`, `progress.progress_on`,
`progress_file.is_alive`, `progress_file.NAME`, `progress_file.read_progress`, `progress_file.RunProgress`,
`reward_figures.note_reward_figures`, `reward_figures.reward_figures`, `run_folder.lock_folder`,
`run_folder.read_summary`, `run_folder.RunFolder`.
"""
