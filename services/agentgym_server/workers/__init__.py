"""Worker processes: rooms that hold environments, and the pool that supervises them.

Names for other packages: `fork_server.WorkerStartFailed`, `hosts.Factory`, `hosts.Host`, `hosts.HostFault`,
`hosts.LoopHost`, `hosts.Origin`, `hosts.Outcome`, `hosts.Outcomes`, `hosts.Overloaded`,
`hosts.dependency_fault`, `hosts.internal_fault`, `pool.PoolTimes`, `pool.WorkerLimits`, `pool.WorkerPool`.
"""
