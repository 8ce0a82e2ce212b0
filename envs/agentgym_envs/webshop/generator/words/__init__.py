"""Word lists of the generated catalogue, one module per category; all of them are our own."""
