"""Checkpoints of a learner: their writer, and the state of the optimisers in them."""
