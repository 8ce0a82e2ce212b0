"""Self-evaluation: a policy scores episodes by a rubric, with one digit, and its scores are held against
outcomes.

Names for other packages: `digits.digit_tokens`, `digits.expected_score`, `quality.FEWEST`, `quality.Quality`,
`quality.quality`, `records.read_scores`, `records.scores_file`, `records.SelfScores`, `records.write_scores`,
`rubric.HIGHEST`, `rubric.LOWEST`, `rubric.messages`, `rubric.QUESTION`, `rubric.RUBRIC`, `rubric.VERSION`,
`sampled.sampled_version`, `sampled.SampledDigits`, `sampled.SAMPLING`.
"""
