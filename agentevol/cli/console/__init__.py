"""Console: output of tables and JSON, and error messages with exit codes."""
