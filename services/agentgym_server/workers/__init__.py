"""Worker processes: rooms that hold environments, and the pool that supervises them."""
