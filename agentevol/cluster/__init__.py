"""Processes of a run on Ray: the only package that imports it.

Names for other packages: `cluster.Cluster`.
"""
