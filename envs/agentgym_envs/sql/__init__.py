"""Text-to-SQL: a safe executor, verdicts on variants of the database, generated tasks."""
