"""Imported databases with questions, such as Spider's development set.

Names for other packages: `library.ImportedTask`, `library.Library`.
"""
