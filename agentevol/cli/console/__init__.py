"""Console: arguments, output of tables and JSON, and error messages with exit codes.

Names for other packages: `configuration.Arguments`, `configuration.file_and_overrides`, `counting.counting`,
`errors.failure`, `evaluations.compare_pairwise`, `evaluations.compare_records`, `evaluations.print_scores`,
`evaluations.score_members`, `output.AsJson`, `output.print_json`, `output.print_json_line`,
`output.print_table`, `output.printable`, `processes.mapped`, `reports.By`, `reports.check_reports`,
`reports.Iteration`, `reports.Reports`, `reports.write_reports`, `suites.evaluate_suite`.
"""
