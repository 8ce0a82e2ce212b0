"""Rewards of episodes and turns beyond the environment's own: reward models and process reward models.

Names for other packages: `check.check_potential`, `check.check_reward`, `check.check_turn_reward`,
`metrics.auc`, `metrics.brier`, `metrics.calibration_error`, `metrics.correlation`,
`objectives.for_reward_model`, `potentials.potential_of`, `potentials.with_potential`,
`process_rewards.agreements`, `process_rewards.counted_by_head`, `process_rewards.pooled_by_head`,
`process_rewards.process_rewards`, `process_rewards.watched`, `reward_functions.OF_RETURNS`,
`reward_functions.episode_scores`, `reward_functions.reward_function`, `reward_functions.score_figures`,
`reward_model.figures`, `reward_model.judge`, `reward_model.Judgement`, `reward_model.sequences_to_judge`,
`reward_model.write_judgements`, `run_reward_model.agreement_figures`, `run_reward_model.check_process_model`,
`run_reward_model.check_reward_model`, `run_reward_model.check_tokenizer`, `run_reward_model.compared`,
`run_reward_model.is_exploited`, `run_reward_model.is_reward_model`, `run_reward_model.judged`,
`run_reward_model.judged_figures`, `run_reward_model.rewarded`, `run_reward_model.take_in`,
`run_reward_model.with_scores`, `shaping.episodes_of`, `shaping.length_correlation`, `shaping.shaped`,
`state_values.chosen_states`, `state_values.continuation_ids`, `state_values.Counted`,
`state_values.is_mismatch`, `state_values.recorded_states`, `state_values.State`, `testing.example_episodes`,
`testing.HOSTILE`, `turn_rewards.turn_reward`, `turn_rewards.with_turn_rewards`.
"""
