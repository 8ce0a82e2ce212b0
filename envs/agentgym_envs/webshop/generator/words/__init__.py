"""Word lists of the generated catalogue, one module per category; all of them are our own.

Names for other packages: `beauty`, `common`, `electronics`, `fashion`, `garden`, `grocery`.
"""
