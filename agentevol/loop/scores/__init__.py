"""Scores of explored episodes by `select.score`, in place of their returns.

Names for other packages: `episode_scores.EpisodeScores`.
"""
