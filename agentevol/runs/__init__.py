"""Runs: launch, resumption, placement, training on a data set, and single evaluations."""
