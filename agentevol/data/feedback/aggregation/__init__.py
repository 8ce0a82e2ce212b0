"""Aggregation of the opinions of several sources: scores, labels and comparisons.

`ratings` has the arrays, `means` the rules without a model, `reliability` (scores), `dawid_skene` (labels)
and `crowd_bt` (comparisons) the models of sources; `aggregate` applies the rule of `feedback.aggregate`.

Names for other packages: `aggregate.Aggregated`, `aggregate.Preferences`, `aggregate.labels`,
`aggregate.preferences`, `aggregate.scores`, `ratings.ratings`, `ratings.Ratings`, `ratings.of_scores`.
"""
