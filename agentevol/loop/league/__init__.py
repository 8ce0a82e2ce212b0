"""Leagues: partners of explored episodes among the run's checkpoints and scripts, and results beside them.

Names for other packages: `draws.Candidate`, `figures.BEGINNING`, `figures.figures`, `figures.lines`,
`league.League`, `league.partner_of`, `table`.
"""
