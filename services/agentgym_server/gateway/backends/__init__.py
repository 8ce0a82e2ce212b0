"""Backends of a gateway: discovery, health, transport, queues and delivery of requests."""
