"""Controllers of settings that adapt during a run, and diagnostics of updates."""
