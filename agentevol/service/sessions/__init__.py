"""Recorded sessions: registry, records, and their conversion and storage as trajectories."""
