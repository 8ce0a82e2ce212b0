"""Trajectories as data: records, the table that holds them, exports and imports."""
