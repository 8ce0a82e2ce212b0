"""What runs in the processes of a run, and how episodes are handed out to them.

`agentevol.cluster` starts these processes.
"""
