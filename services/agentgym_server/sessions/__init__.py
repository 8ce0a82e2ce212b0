"""Sessions: episodes with their leases, turns and single outcome."""
