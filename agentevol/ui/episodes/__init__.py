"""Pages of episodes: lists with filters, sorting and full-text search, a page at a time."""
