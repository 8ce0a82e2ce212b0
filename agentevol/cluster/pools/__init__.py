"""Pools of worker processes on the driver's side: dispatch, rollout workers and learners."""
