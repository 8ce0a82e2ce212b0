"""Feedback: opinions about episodes, in a table beside them.

`records` has the kinds of opinions, `table` holds them, `latest` finds those that stand.

Names for other packages: `latest.latest`, `latest.standing`, `latest.thing`, `location.is_feedback`,
`records.Comparison`, `records.Correction`, `records.Dimensions`, `records.Feedback`, `records.Flag`,
`records.Kind`, `records.MOST_ACTION`, `records.MOST_NAME`, `records.MOST_NOTE`, `records.SWAPPED`,
`records.Score`, `records.Verdict`, `records.feedback`, `records.is_name`, `records.now`,
`table.FeedbackTable`.
"""
