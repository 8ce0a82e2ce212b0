"""Configuration of a run: sections, presets, and checks of combinations.

Names for other packages: `commands.command`, `commands.evaluation_command`, `constraints.Constraint`,
`engine.CustomEngineConfig`, `engine.EmbeddedConfig`, `engine.EngineConfig`, `engine.ENGINES`,
`engine.TokenEngineConfig`, `engine.VllmConfig`, `engine.VllmServersConfig`, `fitting.fitted`,
`fitting.TaskCounts`, `forgetting.EwcConfig`, `forgetting.ProtectedTasks`, `forgetting.ReplayConfig`,
`forgetting.RetainedConfig`, `learner.LearnConfig`, `metrics.SINKS`, `population.PopulationConfig`,
`population.Span`, `population.spans`, `presets.BY_ENVIRONMENT`, `reading.section_of`,
`rollout.AsynchronousConfig`, `rollout.RolloutConfig`, `run.load`, `run.load_earlier`, `run.RunConfig`,
`run.TrainConfig`, `sections.EnvironmentConfig`, `sections.EvaluateConfig`, `sections.ExploreConfig`,
`sections.HorizonConfig`, `sections.KLTarget`, `sections.PairsConfig`, `sections.RETURN`,
`sections.SCRIPTED_PARTNERS`, `sections.SelectConfig`, `sections.SELECTIONS`, `sections.SELF_PLAY`,
`self_evaluation.BASE`, `self_evaluation.LATEST`, `self_evaluation.SAMPLES`, `settings.flattened`,
`suite.load_suite`, `suite.SuiteConfig`, `suite.SuiteEnvironment`, `suite.SuiteModel`, `urls.check_url`,
`urls.DEFAULT_URL`, `urls.KEY_VARIABLE`, `urls.openai_url`, `urls.URL_VARIABLE`.
"""
