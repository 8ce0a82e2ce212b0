"""Processes of a run on the nodes of a cluster: interface, placement, membership and failures."""
