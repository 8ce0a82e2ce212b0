"""Rows: what training learns from, out of episodes and data sets."""
