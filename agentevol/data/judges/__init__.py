"""Scores of episodes by judges: asking, records in a run's folder, conformance checks, and a rubric judge.

Names for other packages: `answers.AnswerError`, `answers.object_in`, `answers.scores_in`, `answers.told_of`,
`answers.transcript`, `check.check_judge`, `judging.Judged`, `judging.as_text`, `judging.judge_of`,
`judging.judged`, `judging.normalised`, `records.JudgeIdentity`, `records.JudgementsFile`,
`records.judgements_file`, `records.read_judgements`, `records.write_judgements`.
"""
