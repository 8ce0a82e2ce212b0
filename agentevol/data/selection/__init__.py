"""Selection of explored episodes for training: filters, rules by name, and statistics.

Names for other packages: `filters.ages`, `filters.fresh`, `filters.informative`, `filters.learnt_turns`,
`filters.sampled_tokens`, `filters.scored`, `filters.select`, `rescoring.rescored`,
`statistics.group_figures`, `statistics.outcomes`, `statistics.selection_figures`, `statistics.sentence`,
`statistics.since_previous`, `variety.DISTINCT`, `variety.ENTROPY`, `variety.LENGTH`,
`variety.variety_figures`.
"""
