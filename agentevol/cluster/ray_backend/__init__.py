"""Ray implementation of processes, placement groups and weight receivers."""
