"""Reports of a run: intervals, a plot, a table for the terminal and one HTML page.

Names for other packages: `comparison.Evolved`, `comparison.checkpoint_strengths`, `document.Document`,
`document.Table`, `document.as_markdown`, `document.check_files`, `document.write_document`,
`examples.Example`, `intervals.mean_interval`, `intervals.wilson`, `page.report_of_run`,
`page.run_document`, `page.write_report`, `rates.SuccessRow`, `rates.headline`, `rates.interval_text`,
`rates.mean_text`, `rates.rate_text`, `rates.share_text`, `rates.success_rows`, `rates.thinking_text`,
`run_comparison.compare_runs`, `strengths.Strength`, `table.terminal_table`.
"""
