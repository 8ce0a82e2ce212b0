"""Learning algorithms by family, one module each, and the losses and advantages that they share.

Names for other packages: `check.check_algorithm`, `episode_weights.effective_sample_size`,
`episode_weights.members`.
"""
