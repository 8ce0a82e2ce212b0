"""Pages of one episode: its turns with their tokens, its group, and the expert's way.

Names for other packages: `expert.Experts`, `reading.find_episode`, `routes`, `view.MOST_TURNS`, `view.Texts`,
`view.outcome`, `view.verdict`.
"""
