"""Reports of single evaluations: records of episodes, their figures, tables and paired comparison.

Names for other packages: `paired.PairedScore`, `paired.differing`, `paired.paired`, `records.Agent`,
`records.EvaluationRecord`, `records.Setting`, `records.append_to`, `records.missing`, `records.read_records`,
`records.record_of`, `records.seat_of`, `summary.EvaluationFigures`, `summary.figures_of`,
`summary.groups_of`, `tables.clusters`, `tables.group_rows`, `tables.lines`, `tables.paired_rows`,
`tables.score_rows`.
"""
