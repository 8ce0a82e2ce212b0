"""Catalogues on disk and in memory: products, search index, and goals.

Names for other packages: `catalogue.Catalogue`, `stored.About`, `stored.CatalogueError`, `stored.damage`,
`stored.StoredCatalogue`, `stored.Wishes`, `stored.write`.
"""
