"""Catalogues on disk and in memory: products, search index, and goals."""
