"""Export formats that need the learners' code: preference pairs, labels, conversations of Sotopia.

Names for other packages: `hub.push`, `opinion_rows.Opinions`, `registry.ALL_FORMATS`.
"""
