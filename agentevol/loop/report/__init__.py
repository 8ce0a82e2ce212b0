"""Reports of a run: intervals, a plot, a table for the terminal and one HTML page.

Names for other packages: `document.Document`, `document.Table`, `document.as_markdown`,
`document.check_files`, `document.write_document`, `intervals.mean_interval`, `intervals.wilson`,
`page.report_of_run`, `page.write_report`, `rates.interval_text`, `rates.mean_text`, `rates.rate_text`,
`rates.share_text`, `rates.thinking_text`, `run_comparison.compare_runs`, `table.terminal_table`.
"""
