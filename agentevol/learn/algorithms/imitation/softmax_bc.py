"""Softmax-weighted behaviour cloning: a group's weight is divided among its episodes by a softmax of their
returns.
"""

from agentevol.core.algorithms.contract import Algorithm
from agentevol.learn.algorithms.episode_weights import softmax
from agentevol.learn.algorithms.imitation.sft import sft

ALGORITHM = Algorithm(loss=sft, data="episodes", weigh=softmax)
