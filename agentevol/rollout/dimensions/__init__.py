"""Scores in several dimensions that environments tell with the last step of an episode.

Names for other packages: `clusters.clustered_mean`, `clusters.linearised`,
`means.Scored`, `means.dimension_means`, `means.dimensions_of`, `scores.OVERALL`, `scores.cluster_of`,
`scores.end_reasons_of`, `scores.last_info`, `scores.scores_of`.
"""
