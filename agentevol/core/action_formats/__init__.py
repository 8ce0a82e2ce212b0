"""Registry of action formats by name, and their contract tests."""
