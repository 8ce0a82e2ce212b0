"""Benchmark files: reading, validation, published numbering, and import."""
