"""Selection of explored episodes for training: filters, rules by name, and statistics."""
