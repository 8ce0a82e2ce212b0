"""Evaluation suites: plan, folder, play and results of several models on several environments.

Names for other packages: `folder.SuiteFolder`, `folder.check_folder`, `folder.is_suite`, `plan.SuitePlan`,
`plan.plan_of`, `play.play_suite`, `results.draw_sample`, `results.results_of`, `results.write_reports`.
"""
