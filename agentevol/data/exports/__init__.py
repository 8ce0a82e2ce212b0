"""Export formats that need the learners' code: preference pairs, labels, conversations of Sotopia.

Names for other packages: `hub.push`, `registry.ALL_FORMATS`.
"""
