"""Console: arguments, output of tables and JSON, and error messages with exit codes.

Names for other packages: `configuration.Arguments`, `configuration.file_and_overrides`,
`counting.counting`, `errors.failure`, `evaluations.compare_pairwise`, `evaluations.compare_records`,
`evaluations.print_scores`, `evaluations.score_members`, `output.AsJson`, `output.print_json`,
`output.print_json_line`, `output.print_table`, `output.printable`, `reports.By`, `reports.Iteration`,
`reports.Reports`, `reports.check_reports`, `reports.write_reports`, `suites.evaluate_suite`.
"""
