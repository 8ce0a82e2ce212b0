"""The benchmark's own files: read, checked, numbered as published, and imported."""
