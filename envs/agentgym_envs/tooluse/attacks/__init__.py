"""Attack suite: scripted policies without skill or with bad intent, for every environment of tools.

A new domain has it for free: the policies are made from its tools, and from the experts of its tasks.

> report = attack(make("assistant"), tasks=200)
> report.passed, report.results[0].name, report.results[0].mean
(True, 'oracle', 1.0)

Names for other packages: `attack`, `AttackReport`, `AttackResult`, `Played`, `status_of`.
"""

from agentgym_envs.tooluse.attacks.bounds import status_of
from agentgym_envs.tooluse.attacks.suite import AttackReport, AttackResult, Played, attack

__all__ = ["AttackReport", "AttackResult", "Played", "attack", "status_of"]
