"""Feedback: opinions about episodes, in a table beside them.

`records` has the kinds of opinions, `table` holds them, `latest` finds those that stand.

Names for other packages: `location.feedback_of`.
"""
