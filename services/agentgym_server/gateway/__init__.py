"""Gateway: one address for many servers, with routing, supervision and the Compose file."""
