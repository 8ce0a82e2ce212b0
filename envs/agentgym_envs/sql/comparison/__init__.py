"""Comparison of results: what a gold allows, and whether a prediction's rows are that.

Names for other packages: `expectation.Expected`, `expectation.UnusableGold`, `expectation.expected`,
`matching.matches`, `values.same_rows`.
"""
