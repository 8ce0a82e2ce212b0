"""Monitoring: structured logs, metrics and histograms."""
