"""Judging of an episode: the gold state, the parts of the reward, statements about the dialogue, the verdict.

Names for other packages: `gold.Gold`, `gold.replayed`, `judge.JudgeModel`, `judge.judgement_of`,
`judgement.Judgement`, `judgement.Line`, `verdict.has_statements`, `verdict.verdict_of`.
"""
