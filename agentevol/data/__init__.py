"""Training data: training sequences built from episodes and data sets.

Names for other packages: `answer_lengths.ANSWER_TOKENS`, `answer_lengths.THINKING_TOKENS`,
`answer_lengths.token_count`, `auxiliary_sequences.with_auxiliary_sequences`, `chat_datasets.read_texts`,
`columnar_file.EncodedSequences`, `columnar_file.read_sequences`, `composition.explored_figures`,
`composition.learnt_figures`, `composition.Part`, `composition.Share`, `composition.shares`,
`composition.Source`, `composition.staleness`, `composition.turns_by_version`, `composition.version_lag`,
`composition.versions`, `episode_logs.episode_logs`, `episode_logs.left_out_text`, `episode_logs.Seat`,
`final_answers.answer_in`, `final_answers.final_answers`, `final_answers.majority_scores`,
`final_answers.majority_sentence`, `groups.by_key`, `groups.by_task`, `groups.GROUP`, `groups.own_part`,
`groups.task_of`, `groups.TaskKey`, `hashes.of_sequences`, `manifests.Manifest`, `manifests.of_episodes`,
`manifests.of_file`, `manifests.of_names`, `manifests.of_numbers`, `manifests.of_parts`,
`manifests.of_scores`, `manifests.of_weights`, `manifests.Stage`, `pair_sources.lost_before`,
`pair_sources.NO_SOURCES`, `pair_sources.PairSources`, `replay.again`, `replay.by_player`, `replay.copied`,
`replay.copied_opinions`, `replay.learnt_tokens`, `replay.replayed`, `replay.replayed_places`,
`replay.retained_episodes`, `replay.retained_sequences`, `replay.said_in`, `seat_baselines.followed`,
`seat_baselines.Played`, `seat_baselines.SeatMean`, `stored_episodes.episodes_in`,
`stored_episodes.open_table`, `stored_episodes.table_of`, `training_sequences.costs`,
`training_sequences.imitated`, `training_sequences.sequences_of`, `training_sequences.valued`.
"""
