"""Statements that write: their net change, and the rule by which such tasks are served.

Names for other packages: `changes.Change`, `changes.change_here`, `changes.net_change`,
`changes.same_change`, `service.judge_write`.
"""
