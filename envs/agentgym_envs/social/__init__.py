"""Verifiable social worlds: a rule-based partner and an outcome verifier, no measure of social intelligence.

> world = Social()
> task = world.task("train/price/2/17")
> world.reset(task, seed=0).text.splitlines()[1]
'Scenario: A bicycle is advertised for $812, and a buyer has come to see it.'
> world.step("I would pay a little less. [OFFER 500]").observation.text
'Turn #1: Vera Novak said: "You are far off. [OFFER 760]"'

Six families in Sotopia's protocol (arXiv:2310.11667), scored in its seven dimensions where a program can.
"""

from agentgym_envs.social.environment import Social
from agentgym_envs.social.tasks import SocialTask

__all__ = ["Social", "SocialTask"]
