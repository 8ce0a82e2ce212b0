"""Pages of episodes: lists with filters, sorting and full-text search, a page at a time.

Names for other packages: `endings.ENDING`, `endings.meaning`, `facets.Facets`, `filters.filters_of`,
`listing.neighbours`, `routes`, `search.Searches`.
"""
