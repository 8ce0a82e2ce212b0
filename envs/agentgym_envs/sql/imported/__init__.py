"""Imported databases with questions, such as Spider's development set.

Names for other packages: `importing.import_official`, `library.ImportedTask`, `library.Library`.
"""
