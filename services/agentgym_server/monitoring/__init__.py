"""Monitoring: structured logs, metrics and histograms.

Names for other packages: `histograms.BOUNDS_S`, `histograms.Histogram`, `histograms.Histograms`,
`logs.Level`, `logs.about`, `logs.configure`, `metrics.CONTENT_TYPE`, `metrics.Metrics`,
`metrics.resident_bytes`.
"""
