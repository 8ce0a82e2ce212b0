"""Components of losses: surrogates, KL, importance weights, aggregation.

Names for other packages: `aggregation.WeightedMean`, `aggregation.weighted_mean`, `comparisons.averages`,
`comparisons.contexts`, `comparisons.groups`, `comparisons.mean_logp`, `comparisons.pair_metrics`,
`comparisons.pairs`, `importance.engine_correction`, `kl.AdaptiveKL`, `kl.KL`,
`policy_gradient.policy_gradient`, `value_loss.value_loss`.
"""
