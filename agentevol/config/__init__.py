"""Configuration of a run: sections, presets, and checks of combinations.

Names for other packages: `constraints.Constraint`, `engine.CustomEngineConfig`, `engine.ENGINES`,
`engine.EmbeddedConfig`, `engine.EngineConfig`, `engine.TokenEngineConfig`, `engine.VllmConfig`,
`engine.VllmServersConfig`, `fitting.TaskCounts`, `fitting.fitted`, `forgetting.EwcConfig`,
`forgetting.ProtectedTasks`, `forgetting.ReplayConfig`, `forgetting.RetainedConfig`, `learner.LearnConfig`,
`metrics.SINKS`, `population.PopulationConfig`, `population.Span`, `population.spans`,
`presets.BY_ENVIRONMENT`, `rollout.AsynchronousConfig`, `rollout.RolloutConfig`, `run.RunConfig`,
`run.TrainConfig`, `run.load`, `run.load_earlier`, `run.section_of`, `sections.EnvironmentConfig`,
`sections.EvaluateConfig`, `sections.ExploreConfig`, `sections.HorizonConfig`, `sections.KLTarget`,
`sections.PairsConfig`, `sections.SCRIPTED_PARTNERS`, `sections.SELECTIONS`, `sections.SELF_PLAY`,
`sections.SelectConfig`, `settings.flattened`, `urls.DEFAULT_URL`, `urls.KEY_VARIABLE`, `urls.URL_VARIABLE`,
`urls.check_url`, `urls.openai_url`.
"""
