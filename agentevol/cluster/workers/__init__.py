"""Workers of a run's processes, and the dispatch of episodes to them.

`agentevol.cluster` starts these processes.
"""
