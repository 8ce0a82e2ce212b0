"""What can be set: a run, its parts, its presets, and what makes no sense together."""
