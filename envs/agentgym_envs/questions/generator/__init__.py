"""Generator of arithmetic and word problems with worked solutions.

> problem("test", "2", 0).solution
'2 * 9 = 18. 30 - 18 = 20 - 8 = 12. The answer is 12.'

Names for other packages: `problems.COUNTS`, `problems.LEVELS`, `problems.VERSION`, `problems.problem`.
"""

from agentgym_envs.questions.generator.problems import COUNTS, LEVELS, VERSION, Problem, problem

__all__ = ["COUNTS", "LEVELS", "VERSION", "Problem", "problem"]
