"""Training of policies, critics and reward models: token-exact training sequences, packed without padding,
and pure loss functions over them.

Names for other packages: `constraints.Multiplier`, `constraints.from_json`, `constraints.judged`,
`constraints.started`, `constraints.stepped`, `constraints.to_json`, `learner.GradientLearner`,
`learner.Progress`.
"""
