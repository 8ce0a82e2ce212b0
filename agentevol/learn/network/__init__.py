"""Trained network: forward pass over packed batches, attention, and log-probabilities."""
