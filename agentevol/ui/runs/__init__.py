"""Pages of runs: the list with live progress, and one run.

Names for other packages: `routes`, `summaries.summary_of`.
"""
