"""Self-evaluation: a policy scores episodes by a rubric, with one digit, and its scores are held against
outcomes.

Names for other packages: `digits.DigitTokens`, `digits.digit_tokens`, `digits.expected_score`,
`quality.Quality`, `quality.quality`, `records.SelfScores`, `records.read_scores`, `records.write_scores`,
`rubric.VERSION`, `rubric.messages`, `sampled.SampledDigits`.
"""
