"""Losses that train reward models and process reward models."""
