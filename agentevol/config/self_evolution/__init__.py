"""Settings of learning from opinions and from a policy's own episodes.

Names for other packages: `feedback.check_algorithm`, `feedback.check_choice`, `feedback.FeedbackConfig`,
`feedback.FLAG`, `feedback.in_short`, `feedback.learns_opinions`, `feedback.LEARNS_SCORES`,
`feedback.OPINION`, `feedback.RunFeedbackConfig`, `guards.GuardsConfig`, `population.check_members`,
`population.PopulationConfig`, `population.Span`, `population.spans`, `scores.check_opinions`,
`scores.check_score`, `scores.check_scored_data`, `self_evaluation.BASE`, `self_evaluation.LATEST`,
`self_evaluation.SAMPLES`, `self_evaluation.SelfConfig`, `selfplay.check_baseline`, `selfplay.check_league`,
`selfplay.latest_version`, `selfplay.SelfPlayConfig`.
"""
