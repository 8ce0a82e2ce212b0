"""Advantage estimators and reward shaping.

Names for other packages: `answer_length.answer_length`, `baselines.SAME`, `baselines.Singleton`,
`baselines.figures`, `baselines.grouped`, `baselines.grpo`, `baselines.reinforce_pp`,
`baselines.reinforce_pp_baseline`, `baselines.rloo`, `baselines.whitened`, `episode_credit.episode_credit`,
`gae.gae`, `reward_shaping.kl_in_reward`, `reward_shaping.overlong`, `reward_shaping.without_overlong`,
`turn_level.members_of`, `turn_level.numbered`, `turn_level.relative`, `turn_level.states`,
`turn_level.turn_numbers`, `turn_level.turn_returns`, `turn_level.turn_rewards`.
"""
