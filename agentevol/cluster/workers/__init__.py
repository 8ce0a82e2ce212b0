"""Worker processes of a run: rollout workers, learners and environment servers.

`agentevol.cluster` starts these processes.
"""
