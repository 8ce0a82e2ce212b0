"""Catalogues on disk and in memory: products, search index, and goals.

Names for other packages: `catalogue.Catalogue`, `flat.Files`, `stored.About`, `stored.CatalogueError`,
`stored.StoredCatalogue`, `stored.Wishes`, `stored.damage`, `stored.write`.
"""
