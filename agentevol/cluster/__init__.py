"""A run's processes on Ray: the only package that imports it."""
