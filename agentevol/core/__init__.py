"""Types that every layer shares: errors, protocols, records, splits and the extension registry.

Names for other packages: `conformance.check_result`, `conformance.unless`, `conformance.Violations`,
`errors.AgentEvolError`, `errors.ConfigError`, `errors.described`, `errors.EnvironmentFault`,
`errors.FormatFault`, `errors.one_line`, `errors.PolicyFault`, `errors.REPLAY_MISMATCH`,
`errors.RolloutFault`, `errors.RunStopped`, `errors.TransferFailed`, `errors.TransportFault`,
`errors.WeightsReplaced`, `extensions.Extensions`, `files.write_atomically`, `judges.Judge`,
`judges.JudgedEpisode`, `judges.JudgedTurn`, `judges.Verdict`, `memory.peak_memory`, `protocols.Anchor`,
`protocols.Checkpoint`, `protocols.ContextFull`, `protocols.Conversation`, `protocols.EpisodeFacts`,
`protocols.GivenUp`, `protocols.InFlightRule`, `protocols.LearnerJob`, `protocols.LearnReport`,
`protocols.Message`, `protocols.NEW_TOKENS`, `protocols.Overflow`, `protocols.Policy`,
`protocols.RolloutEngine`, `protocols.Sampling`, `protocols.SequenceKind`, `protocols.TrainingSequence`,
`protocols.Transfer`, `splitmix.uniform`, `splits.Choice`, `splits.drawn`, `splits.held_out`,
`splits.iteration_seed`, `splits.parent`, `splits.PARTS`, `splits.remaining`, `splits.spread`,
`splits.within`, `starter_names.MANY`, `starter_names.MODES`, `starter_names.starter_name`, `summaries.AHEAD`,
`summaries.best`, `summaries.by_reward`, `summaries.EvaluationSummary`, `summaries.Faults`,
`summaries.IterationSummary`, `summaries.LeagueEntry`, `summaries.MeanScore`, `summaries.ModeFigures`,
`summaries.RunSummary`, `summaries.ThinkingSummary`, `version.__version__`, `waits.Waits`.
"""
