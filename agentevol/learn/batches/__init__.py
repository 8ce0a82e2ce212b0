"""Batches: training sequences packed without padding, divided into steps, and assembled for losses.

Names for other packages: `assembly.Assembly`, `assembly.OptimiserBatch`, `batch_plan.learning_rate_factor`,
`batch_plan.micro_batches`, `batch_plan.plan`, `batch_plan.tokens_of`, `packing.NO_TURN`,
`packing.PackedBatch`, `packing.SequenceBuilder`, `packing.UNKNOWN`, `packing.demonstration`,
`packing.episode_sequences`, `packing.last_tokens`, `packing.packed`, `trainable_sequences.Fitting`,
`trainable_sequences.NothingToLearn`, `trainable_sequences.fit`.
"""
