"""Sections of a run's configuration.

Names for other packages: `alternatives.chosen`, `alternatives.complaint`, `alternatives.RENAMED`,
`alternatives.value_of`, `cluster.RayConfig`, `constraints.Constraint`, `engine.CustomEngineConfig`,
`engine.EmbeddedConfig`, `engine.EngineConfig`, `engine.ENGINES`, `engine.EngineSection`,
`engine.TokenEngineConfig`, `engine.VllmConfig`, `engine.VllmServersConfig`, `environment.EnvironmentConfig`,
`environment.names_in`, `environment.SCRIPTED_PARTNERS`, `environment.SELF_PLAY`, `evaluation.EvaluateConfig`,
`exploration.DemonstrationConfig`, `exploration.ExploreConfig`, `exploration.HorizonConfig`,
`forgetting.EwcConfig`, `forgetting.InterpolateConfig`, `forgetting.ProbeConfig`, `forgetting.ProtectedTasks`,
`forgetting.ReplayConfig`, `forgetting.RetainedConfig`, `learner.KLTarget`, `learner.LearnConfig`,
`metrics.DEFAULT`, `metrics.SINKS`, `mixture.MixedEnvironment`, `mixture.MixedEvaluation`,
`mixture.MixedExploration`, `mixture.MixedOptions`, `rollout.AsynchronousConfig`, `rollout.RolloutConfig`,
`rollout.RolloutSection`, `rollout.SynchronousConfig`, `section.Level`, `section.Names`, `section.Section`,
`selection.PairsConfig`, `selection.RETURN`, `selection.SelectConfig`, `selection.SELECTIONS`.
"""
