"""Linear heads of value functions and reward models: weights, names, scales and outputs.

Names for other packages: `critic`, `episode_scores.final_scores`, `initialisation.first_heads`,
`initialisation.process_heads`, `linear`, `names`, `names.FILE`, `names.check_heads`, `names.head_names`,
`reward_scale`, `reward_scale.FILE`, `reward_scale.PREFERENCE`, `reward_scale.RewardScale`,
`reward_scale.load_scale`, `turn_values.turn_values`.
"""
