"""Pages of feedback: the forms that rate, flag, correct and prefer, what was said before, and
the list of all of it.

Names for other packages: `api`, `requests.page_facts`, `requests.split_of`, `routes`,
`shown.comparison_feedback`, `shown.reader_feedback`, `tables.FeedbackTables`.
"""
