"""Registry of action formats by name, and their contract tests.

Names for other packages: `check.check_action_format`, `registry`, `registry.ACTION_FORMATS`,
`registry.CheckedFormat`, `registry.action_format`, `registry.opening_messages`.
"""
