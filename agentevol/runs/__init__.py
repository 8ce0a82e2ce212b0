"""Runs: launch, resumption, placement, training on a data set, and single evaluations.

Names for other packages: `evaluation.Report`, `evaluation.Trial`, `evaluation.evaluate`, `evaluation.trial`,
`launch.plan`, `lifecycle`, `lifecycle.resume`, `lifecycle.run`, `players.PlayerSettings`,
`players.player`, `seating.BESIDE`, `seating.Seating`, `training`, `training.train`.
"""
