"""Presets: default settings by algorithm and environment, whole methods, and placements.

Names for other packages: `defaults.ALGORITHM_BY_ENVIRONMENT`, `defaults.BY_DATA`, `defaults.BY_ENVIRONMENT`,
`defaults.BY_NAME`, `defaults.BY_REWARD`, `defaults.IMITATION`, `defaults.IMITATION_BY_ENVIRONMENT`,
`defaults.MIXED_IMITATION`, `defaults.OFFICIAL`, `defaults.STALE`, `defaults.TRAIN_BY_DATA`,
`methods.method_settings`, `methods.METHODS`, `placements.names`, `placements.preset_file`.
"""
