"""Writing of data sets: what every export format shares.

selection   which episodes of a table
sources     the episodes in order, from any position; `grouping` brings those of a task together
plan        splits, shards, repetitions
progress    what a killed export continues with
shards      rows -> files
facts       counts and lineage, gathered on the way; `card` describes them
export      all of it

Names for other packages: `export.Report`, `export.export`, `plan.Plan`, `selection.Selection`,
`sources.Source`.
"""
