"""Configuration sections of rewards: `reward` (scores of episodes), `process` (values of states) and
`shaping` (additional rewards of turns), with the registries of the objects that they name.

Names for other packages: `process.ALWAYS`, `process.ContinuationProcess`, `process.EnvironmentTurnReward`,
`process.ModelProcess`, `process.OpinionProcess`, `process.PooledProcess`, `process.ProcessConfig`,
`process.ProcessSection`, `process.Rule`, `process.TrainedProcess`, `process.ValueProcess`,
`registries.JUDGES`, `registries.POTENTIALS`, `registries.REWARDS`, `registries.TURN_REWARDS`,
`reward.CautionConfig`, `reward.ConsistencyReward`, `reward.EnvironmentReward`, `reward.FunctionReward`,
`reward.JudgeReward`, `reward.LearntModelReward`, `reward.ModelReward`, `reward.PreferenceModelReward`,
`reward.RewardConfig`, `reward.RewardSection`, `reward.ScoredReward`, `shaping.check_shaping`,
`shaping.potential_discount`, `shaping.ShapingConfig`.
"""
