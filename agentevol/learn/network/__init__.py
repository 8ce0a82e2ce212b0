"""Trained network: forward pass over packed batches, attention, and log-probabilities.

Names for other packages: `attention.PACKED_ATTENTION`, `log_probabilities.CHUNK_LOGITS`,
`model_checks.check_packing`, `model_checks.positions`, `model_checks.precision`,
`model_checks.vocabulary_size`, `network.Network`, `network.Outputs`, `network.Reader`.
"""
