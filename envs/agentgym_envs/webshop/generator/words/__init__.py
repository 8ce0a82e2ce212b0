"""The words that the generated catalogue is made of, a module a category; all of them are our own."""
