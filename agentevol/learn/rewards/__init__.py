"""Rewards computed from the text of an agent, or from the scores of reward models."""
