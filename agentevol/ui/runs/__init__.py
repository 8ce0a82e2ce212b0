"""Pages of runs: the list with live progress, and one run."""
