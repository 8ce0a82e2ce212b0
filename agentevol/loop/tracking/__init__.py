"""Metrics of a run's iterations: what they are, and the sinks that record them.

Names for other packages: `recorder.Recorder`, `recorder.check_sinks`.
"""
