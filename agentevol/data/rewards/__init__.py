"""Rewards of episodes and turns beyond the environment's own: reward models and process reward models."""
