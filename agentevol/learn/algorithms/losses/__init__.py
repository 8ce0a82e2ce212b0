"""Components of losses: surrogates, KL, importance weights, aggregation."""
