"""Benchmark files: reading, validation, published numbering, and import.

Names for other packages: `library`, `sampling.WeightedGoals`, `splits.disjoint`.
"""
