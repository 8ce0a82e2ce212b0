"""Wire format: strict JSON, request models, replies and problems."""
