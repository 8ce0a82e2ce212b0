"""Feedback: opinions about episodes, in a table beside them.

`records` has the kinds of opinions, `table` holds them, `latest` finds those that stand, `about` filters
episodes by them.

Names for other packages: `about.about`, `about.episodes_with`, `about.Wanted`, `about.WANTED`,
`latest.latest`, `latest.standing`, `latest.thing`, `location.is_feedback`, `records.Comparison`,
`records.Correction`, `records.Dimensions`, `records.Feedback`, `records.feedback`, `records.Flag`,
`records.is_name`, `records.Kind`, `records.MOST_ACTION`, `records.MOST_NAME`, `records.MOST_NOTE`,
`records.now`, `records.Score`, `records.SWAPPED`, `records.Verdict`, `table.FeedbackTable`.
"""
