"""Self-evaluation: a policy scores episodes by a rubric, with one digit, and its scores are held against
outcomes.

Names for other packages: `digits.digit_tokens`, `digits.expected_score`, `quality.FEWEST`,
`quality.Quality`, `quality.quality`, `records.SelfScores`, `records.read_scores`, `records.scores_file`,
`records.write_scores`, `rubric.VERSION`, `rubric.messages`, `sampled.SAMPLING`, `sampled.SampledDigits`,
`sampled.sampled_version`.
"""
