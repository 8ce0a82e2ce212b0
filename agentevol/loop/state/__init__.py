"""State of a run: its folder, episodes, caches, draft summaries and progress display."""
