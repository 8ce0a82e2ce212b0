"""Rewards computed from the text of an agent, or from the scores of reward models.

Names for other packages: `ensemble.Standard`, `ensemble.independent`, `ensemble.memberwise`,
`ensemble.normalised`, `ensemble.spread`, `good_accuracy`, `labels.by_head`, `labels.compared`,
`monte_carlo_values.StateValue`, `monte_carlo_values.StateValues`, `monte_carlo_values.counted`,
`monte_carlo_values.pooled`, `process.format_errors`, `process.invalid_actions`, `process.repetitions`,
`process.value_differences`, `process.values_before`, `process.weighted`, `repetition.repeated_share`,
`stopping.overoptimised`.
"""
