"""Stages of the training loop, one module each.

Names for other packages: `acceptance.judged_by`, `acceptance.served_environments`, `cloning.settled`,
`iteration.Stages`, `opinions.Opinions`, `rewards.Rewards`.
"""
