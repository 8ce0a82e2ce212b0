"""Reading of configurations: files, overrides, and files of earlier versions.

Names for other packages: `merging.merged`, `migration.migrated`, `reading.apply_override`,
`reading.nulls_as_text`, `reading.read_toml`, `reading.section_of`, `settings.flattened`.
"""
