"""Processes of a run on the nodes of a cluster: interface, placement, membership and failures.

Names for other packages: `failures.ProcessFailures`, `failures.start_failure`, `failures.stop_if_hopeless`,
`gpu_allocation.gpus_of_learners`, `gpu_allocation.gpus_of_rollouts`, `interface.POLL_S`,
`interface.ProcessLost`, `interface.Processes`, `membership.LOOK_S`, `membership.Members`, `nodes.COMPARED`,
`nodes.Facts`, `nodes.Node`, `nodes.Place`, `nodes.alive`, `nodes.facts`, `nodes.folders_of`,
`shared_storage.Token`.
"""
