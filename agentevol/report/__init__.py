"""What a run found, for people: intervals, a plot, a table for the terminal and one HTML page."""
