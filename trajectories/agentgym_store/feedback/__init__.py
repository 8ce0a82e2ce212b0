"""Feedback: opinions about episodes, in a table beside them.

`records` has the kinds of opinions, `table` holds them, `latest` finds those that stand, `about` filters
episodes by them.

Names for other packages: `about.WANTED`, `about.Wanted`, `about.about`, `about.episodes_with`,
`latest.standing`, `location.is_feedback`, `records.Comparison`, `records.Correction`, `records.Dimensions`,
`records.Feedback`, `records.Flag`, `records.MOST_NAME`, `records.SWAPPED`, `records.Score`,
`records.feedback`, `records.is_name`, `records.now`, `table.FeedbackTable`.
"""
