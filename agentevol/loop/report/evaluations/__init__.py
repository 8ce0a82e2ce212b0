"""Reports of single evaluations: records of episodes, their figures, tables and paired comparison.

Names for other packages: `evaluation_report.document_of`, `evaluation_report.report_of`,
`evaluation_report.success_intervals`, `record_comparison.RecordComparison`, `record_comparison.compared`,
`record_comparison.comparison_document`, `record_comparison.remarks`, `records.Agent`,
`records.EvaluationRecord`, `records.Setting`, `records.append_to`, `records.read_records`,
`records.record_of`, `records.seat_of`, `stored.records_of_run`, `summary.EvaluationFigures`,
`summary.groups_of`, `tables.clusters`, `tables.group_rows`, `tables.lines`, `tables.paired_rows`,
`tables.score_rows`.
"""
