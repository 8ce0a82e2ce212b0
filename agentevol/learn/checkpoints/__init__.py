"""Checkpoints of a learner: their writer, and the state of the optimisers in them.

Names for other packages: `optimiser_state`, `optimiser_state.moments`, `optimiser_state.set_moments`,
`writer.write`.
"""
