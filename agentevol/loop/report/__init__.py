"""Reports of a run: intervals, a plot, a table for the terminal and one HTML page.

Names for other packages: `comparison.ALL`, `comparison.Difference`, `comparison.Evolved`,
`comparison.MeanDifference`, `comparison.Outcomes`, `comparison.checkpoint_strengths`,
`comparison.differ_in_seed_alone`, `comparison.difference`, `comparison.evolved`,
`comparison.mean_differences`, `comparison.mean_gain`, `comparison.run_strengths`,
`intervals.mean_interval`, `intervals.wilson`, `page.flattened`, `page.run_tables`, `page.write_report`,
`pass_rates.PassRate`, `pass_rates.pass_rates`, `rates.SuccessRow`, `rates.headline`, `rates.interval_text`,
`rates.rate_text`, `rates.success_rows`, `rates.thinking_text`, `strengths.Strength`,
`table.terminal_table`, `tensorboard.write_curves`.
"""
