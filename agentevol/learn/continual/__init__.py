"""Continual learning: EWC, distillation, replay sampling, interpolation, and measures of forgetting.

Names for other packages: `averaging.write_mean`, `consolidation.Penalty`, `consolidation.check_kept`,
`consolidation.consolidation`, `consolidation.in_one_piece`, `distillation.distilled`, `ewc`,
`forgetting_metrics.Fall`, `forgetting_metrics.backward_transfer`, `forgetting_metrics.changes`,
`forgetting_metrics.forgetting`, `interpolation.toward`, `interpolation.write_between`,
`replay_sampling.Candidate`, `replay_sampling.mixture`, `replay_sampling.reservoir`,
`replay_sampling.stratified`.
"""
