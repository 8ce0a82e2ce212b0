"""What becomes of feedback: corrections teach an action and make a pair, comparisons make pairs, scores make
labels, and flagged episodes are left out.

Names for other packages: `comparisons.majorities`, `corrections.CorrectedTurn`, `corrections.corrected_turn`,
`corrections.unsampled`, `opinions.feedback_on`, `opinions.opinions_of`, `opinions.trained_split`,
`scores.rated_labels`, `usable.Usable`, `usable.usable`.
"""
