"""Test doubles: environments, sockets, gateways and clients of dialects, for tests only."""
