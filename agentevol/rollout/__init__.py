"""Rollout: environment servers, tasks, and the episodes that policies play.

Names for other packages: `concurrent_episodes.play_all`, `concurrent_episodes.play_episode`,
`continuations.continuations`, `engine_factory.partner_player`, `engine_factory.start_engine`,
`engine_factory.start_token_engine`, `environment_server.EnvironmentServer`, `environment_server.gave_up`,
`environment_server.RESTARTS`, `environment_server.RETRY_S`, `environments.demonstrated`,
`environments.Demonstrated`, `environments.demonstration`, `environments.opened`,
`environments.player_episodes`, `environments.reward_columns`, `environments.served_counts`,
`environments.task_counts`, `environments.usual_action_tokens`, `episode.ABORTED`, `episode.EpisodeRequest`,
`expert_demonstrations.demonstrate`, `expert_demonstrations.demonstration_sequences`, `faults.FaultLog`,
`faults.sentence`, `horizon.gated_turn_limit`, `horizon.turn_limit`, `incidents.causes`,
`incidents.with_cause`, `metrics.compared`, `metrics.ending_label`, `metrics.endings`,
`metrics.failed_episodes`, `metrics.is_invalid`, `metrics.stop_above`, `metrics.summarise`,
`metrics.summarise_environments`, `partner_engines.MOST_ENGINES`, `partner_engines.PartnerEngines`,
`seats.Episode`, `seats.failed_episode`, `seats.failure_of`, `seats.PARTNER`, `session_forks.Forks`,
`tasks.EnvTask`, `tasks.list_seats`, `tasks.list_tasks`, `thinking.thinking_summary`.
"""
