"""Rollout: environment servers, tasks, and the episodes that policies play."""
