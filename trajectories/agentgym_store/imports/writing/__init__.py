"""Writing of imported episodes, which every format shares.

drafts   what a record tells, with what a user supplies -> an episode
replay   the actions of an episode in this package's environment
files    files -> a table, with a report

Names for other packages: `drafts.Supplied`, `files.ImportReport`, `files.import_files`,
`replay.ReplayReport`, `replay.Replayer`.
"""
