"""Experiments: comparisons of learning methods, with several seeds."""
