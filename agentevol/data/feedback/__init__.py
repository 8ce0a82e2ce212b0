"""Uses of feedback: corrections teach an action and make a pair, comparisons make pairs, scores make
labels, and flagged episodes are left out.

Names for other packages: `additions.add_records`, `additions.Added`, `checks.check_records`,
`flags.with_flags`, `opinions.action_format_of`, `opinions.check_sources`, `opinions.feedback_on`,
`opinions.opinions_of`, `opinions.TRAIN`, `opinions.trained_split`, `rules.why_no_correction`,
`rules.why_no_episode`, `rules.why_no_pair`, `scores.rated`, `taught.NOTHING`, `taught.spoken`,
`taught.Taught`, `taught.taught`, `turns.of_own_turns`, `turns.SCORE`, `usable.Usable`, `usable.usable`.
"""
