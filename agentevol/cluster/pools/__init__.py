"""Pools of worker processes on the driver's side: dispatch, rollout workers and learners.

Names for other packages: `dispatch.Played`, `learner_group.Learners`, `rollout_pool.Fleet`.
"""
