"""Reports of evaluation suites: several models in several environments, the sample that people rate, and the
agreement of their ratings with outcomes.

Names for other packages: `sampling.stratified_sample`, `suite_report.Content`, `suite_report.SuiteReport`,
`suite_report.samples`, `suite_report.suite_report`, `tables.suite_document`.
"""
