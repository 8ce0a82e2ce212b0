"""Catalogues on disk and in memory: products, what finds them, and the wishes of their customers."""
