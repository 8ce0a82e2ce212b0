"""Scores of episodes by judges: asking, records in a run's folder, conformance checks, and a rubric judge."""
