"""Verifiable social worlds: a rule-based partner and an outcome verifier, no measure of social intelligence.

> world = Social()
> task = world.task("train/price/2/1")
> world.reset(task, seed=0).text.splitlines()[1]
'Scenario: An advertisement offers a kayak for $126. Owner and customer discuss it.'
> world.step("I can come towards you. [OFFER 50.40]").observation.text
'Turn #1: Dario Petrov said: "That is a long way from what I need. [OFFER 118.99]"'

Six families in Sotopia's protocol (arXiv:2310.11667), scored in its seven dimensions where a program can.
"""

from agentgym_envs.social.environment import Social
from agentgym_envs.social.tasks import SocialTask

__all__ = ["Social", "SocialTask"]
