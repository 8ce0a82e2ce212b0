"""Worker processes of a run: rollout workers, learners and environment servers.

`agentevol.cluster` starts these processes.

Names for other packages: `environment.EnvironmentWorker`, `environment.PlacedServer`,
`learner.LearnerWorker`, `learner.report_of`, `rollout.RolloutWorker`, `rollout.WorkerUsage`.
"""
