"""Configuration of a run: sections, presets, and checks of combinations.

Names for other packages: `commands.command`, `commands.evaluation_commands`, `commands.records_files`,
`fitting.fitted`, `fitting.TaskCounts`, `mixture.with_fitted`, `run.load`, `run.load_earlier`,
`run.RunConfig`, `run.TrainConfig`, `suite.load_suite`, `suite.SuiteConfig`, `suite.SuiteEnvironment`,
`suite.SuiteModel`, `urls.check_url`, `urls.DEFAULT_URL`, `urls.KEY_VARIABLE`, `urls.openai_url`,
`urls.URL_VARIABLE`.
"""
