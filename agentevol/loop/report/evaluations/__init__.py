"""Reports of single evaluations: records of episodes, their figures, tables and paired comparison.

Names for other packages: `evaluation_report.EvaluationReport`, `evaluation_report.LOSS_NOTE`,
`evaluation_report.PASS_NOTE`, `evaluation_report.document_of`, `evaluation_report.loss_rows`,
`evaluation_report.pass_rows`, `evaluation_report.performance_rows`, `evaluation_report.report_of`,
`evaluation_report.success_intervals`, `losses.LOSS_CLASSES`, `losses.LossClass`,
`model_comparison.ModelComparison`, `model_comparison.Named`, `model_comparison.check_settings`,
`model_comparison.comparison_tables`, `model_comparison.headline`, `model_comparison.model_comparison`,
`model_comparison.pairwise_document`, `paired.PairedScore`, `paired.paired_losses`,
`performance.Performance`, `performance.grouped`, `performance.performance`,
`record_comparison.RecordComparison`, `record_comparison.compared`, `record_comparison.comparison_document`,
`record_comparison.remarks`, `records.Agent`, `records.EvaluationRecord`, `records.Setting`,
`records.append_to`, `records.read_records`, `records.record_of`, `records.seat_of`,
`stored.records_of_run`, `summary.EvaluationFigures`, `summary.groups_of`, `tables.clusters`,
`tables.group_rows`, `tables.lines`, `tables.paired_rows`, `tables.score_rows`.
"""
