"""Worlds for language-model agents, and the contract that they keep."""
