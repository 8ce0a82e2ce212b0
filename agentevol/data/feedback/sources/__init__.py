"""Sources of opinions: the environment's own, episodes for people to rate, and figures of each source.

Names for other packages: `environment.about`, `queue.following`, `queue.Queued`, `statistics.SourceFigures`,
`statistics.Summary`, `statistics.summary`.
"""
