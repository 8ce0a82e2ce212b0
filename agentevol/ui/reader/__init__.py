"""Pages of one episode: its turns with their tokens, its group, and the expert's way."""
