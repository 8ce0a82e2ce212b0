"""Configuration of a run: sections, presets, and checks of combinations."""
