"""Ray implementation of processes, placement groups and weight receivers.

Names for other packages: `processes.RayProcesses`, `weight_receivers.Receivers`.
"""
