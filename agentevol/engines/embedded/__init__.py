"""Embedded engine: a transformers model in this process with continuous batching.

Names for other packages: `engine.EmbeddedEngine`.
"""
