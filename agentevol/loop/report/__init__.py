"""Reports of a run: intervals, a plot, a table for the terminal and one HTML page."""
