"""Forwarding: requests, WebSockets and operations passed to the backend of their session."""
