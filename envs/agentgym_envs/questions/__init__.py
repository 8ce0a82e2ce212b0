"""Questions with one reply each: generated arithmetic and word problems, or a file of one's own.

> world = Questions()
> task = world.task("test/2/4")
> world.reset(task, seed=0).text
'A cup costs 4 dollars. Leo buys 6 of them and pays with 40 dollars. How many dollars does he get back?'
> world.step("6 * 4 = 24. 40 - 24 = 16. The answer is 16.").reward
1.0

`Questions("tasks.jsonl")` asks those of a file; verifiers compare numbers, expressions, choices or texts.
"""

from agentgym_envs.questions.environment import Questions, QuestionTask

__all__ = ["QuestionTask", "Questions"]
