"""Aggregation of the opinions of several sources: scores, labels and comparisons.

`ratings` has the arrays, `means` the rules without a model, `reliability` (scores), `dawid_skene` (labels)
and `crowd_bt` (comparisons) the models of sources; `aggregate` applies the rule of `feedback.aggregate`.

Names for other packages: `aggregate.votes_of`, `aggregate.known`, `aggregate.Aggregated`,
`aggregate.Preferences`, `aggregate.labels`, `aggregate.preferences`, `aggregate.scores`, `crowd_bt.crowd_bt`,
`ratings.Floats`, `ratings.ratings`, `ratings.Ratings`, `ratings.of_scores`, `reliability.reliability`.
"""
