"""Reports of a run: intervals, a plot, a table for the terminal and one HTML page.

Names for other packages: `comparison.checkpoint_strengths`, `comparison.Evolved`, `document.as_markdown`,
`document.check_files`, `document.Document`, `document.Table`, `document.write_document`,
`environments.environments_table`, `examples.Example`, `intervals.bootstrap_mean`, `intervals.mean_interval`,
`intervals.wilson`, `page.report_of_run`, `page.run_document`, `page.write_report`, `rates.headline`,
`rates.interval_text`, `rates.mean_text`, `rates.rate_text`, `rates.share_text`, `rates.success_rows`,
`rates.SuccessRow`, `rates.thinking_text`, `run_comparison.compare_runs`, `strengths.Strength`,
`table.terminal_table`.
"""
