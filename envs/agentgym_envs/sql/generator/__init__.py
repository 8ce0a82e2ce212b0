"""Generated databases and questions: the built-in tasks.

A schema has three to seven tables with foreign keys. Nouns are of one split only, so that neither schemas nor
questions of two splits are equal. A question is served if variants of its database tell its gold from
mistakes, as for imported tasks.

Names for other packages: `batches.COUNTS`, `batches.GeneratedTask`, `batches.LEVELS`,
`batches.PER_SCHEMA`, `batches.VERSION`, `batches.batch`.
"""
