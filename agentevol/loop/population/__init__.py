"""Populations of runs: their members, the choice among them, and the judgement of the result.

Names for other packages: `judgement.Judgement`, `judgement.RESULT`, `judgement.clear_trials`, `members.Leg`,
`members.copied`, `members.first_legs`, `members.latest`, `members.leg_config`, `ranking.Scores`,
`ranking.Standing`, `ranking.ranked`, `records.HEADER`, `records.MemberRecord`, `records.NOTE`,
`records.PopulationRecord`, `records.SpanRecord`, `records.TITLE`, `records.members_table`,
`records.read_record`, `records.write_record`.
"""
