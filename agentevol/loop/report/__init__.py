"""Reports of a run: intervals, a plot, a table for the terminal and one HTML page.

Names for other packages: `comparison.ALL`, `comparison.Difference`, `comparison.Evolved`,
`comparison.MeanDifference`, `comparison.Outcomes`, `comparison.differ_in_seed_alone`,
`comparison.difference`, `comparison.evolved`, `comparison.mean_differences`, `comparison.mean_gain`,
`comparison.run_strengths`, `intervals.mean_interval`, `intervals.wilson`, `page.write_report`,
`pass_rates.PassRate`, `pass_rates.pass_rates`, `rates.interval_text`, `rates.rate_text`,
`rates.thinking_text`, `table.terminal_table`, `tensorboard.write_curves`.
"""
