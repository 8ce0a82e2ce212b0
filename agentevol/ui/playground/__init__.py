"""Playground: a person plays an environment by hand, and the episode lands in a table.

Names for other packages: `playground.Playground`, `routes`, `table.table_beside`.
"""
